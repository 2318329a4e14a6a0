"""The publisher as a scheduler: who is admitted, who is told, who owns what, and what happens when something dies."""

import signal
import subprocess
import time

import jwt
import pytest
import requests

from support import BUILD, ENTRY_KEY, Admin, RedisServer, wait_until


def metric(publisher, line):
    for text in requests.get(publisher.url("metrics") + "/metrics", timeout=5).text.splitlines():
        if text.startswith(line + " "):
            return float(text.rsplit(" ", 1)[1])
    return None


def test_the_first_to_come_goes_straight_in_with_a_valid_token(start_publisher, folder, scripts, gateways):
    publisher = start_publisher(tick_ms=60000, lease_ms=600000)  # so only the doorbell can be that quick
    publisher.wait_log("redis-up", connection="doorbell")
    admin = Admin(publisher.url("admin"))
    gateway = gateways()
    admin.create("a", tokenTtlSeconds=100)
    publisher.wait_log("owner", session="a")
    begun = time.monotonic()
    place = scripts.join("a", gateway.name, user="u-7")
    entry = gateway.wait_message("entry", place=place)
    assert time.monotonic() - begun < 1
    claims = jwt.decode(entry["token"], ENTRY_KEY, algorithms=["HS256"], audience="a", issuer="anteroom")
    assert (claims["sub"], claims["jti"], claims["ticket"]) == ("u-7", place, 1)
    assert claims["exp"] - claims["iat"] == 100 and int(entry["expires"]) == claims["exp"]
    assert jwt.get_unverified_header(entry["token"])["typ"] == "JWT"
    assert scripts.client.hget(scripts.key("a", "entries"), place) == entry["token"]
    state = gateway.wait_message("waiting-state", session="a", head="1")
    assert (state["tail"], state["waiting"], state["status"]) == ("1", "0", "open")


def test_the_outbox_empties_and_nothing_is_announced_without_news(admin, scripts, gateways, client):
    gateway = gateways()
    admin.create("a")
    places = [scripts.join("a", gateway.name) for _ in range(4)]
    wait_until(lambda: len(gateway.messages("entry")) == 4)
    assert {message["place"] for message in gateway.messages("entry")} == set(places)
    wait_until(lambda: client.zcard(scripts.key("a", "outbox")) == 0, what="an empty outbox")
    announced = wait_until(lambda: (client.hget(scripts.key("a", "state"), "announced") == client.hget(scripts.key("a", "state"), "rev")
                                    and len(gateway.messages("waiting-state"))))
    clock = client.hget(scripts.key("a", "state"), "seen")
    wait_until(lambda: int(client.hget(scripts.key("a", "state"), "seen")) > int(clock) + 300, what="three more ticks")
    assert len(gateway.messages("waiting-state")) == announced
    assert len(gateway.messages("entry")) == 4


def test_the_pace_is_kept_and_measured(admin, scripts, gateways, client):
    gateway = gateways()
    admin.create("a", batch=2, intervalMs=500, status="paused")
    for _ in range(12):
        scripts.join("a", gateway.name)
    admin("POST", "/admin/sessions/a/resume")
    live = wait_until(lambda: (figures := admin.live("a"))["admitted"] >= 8 and figures, what="eight admissions")
    assert live["ratePerSecond"] == pytest.approx(4, rel=0.4)
    wait_until(lambda: admin.live("a")["admitted"] == 12)
    stamps = sorted(int(entry["at"]) for _, entry in client.xrange(scripts.key("a", "admissions")))
    for early, late in zip(stamps, stamps[2:]):
        assert late - early >= 400  # never more than a batch in an interval
    tickets = [int(message["ticket"]) for message in gateway.messages("entry")]
    assert tickets == sorted(tickets)


def test_departures_are_told_as_tickets(admin, scripts, gateways):
    gateway = gateways()
    admin.create("a", status="paused")
    places = [scripts.join("a", gateway.name) for _ in range(5)]
    wait_until(lambda: gateway.messages("waiting-state", tail="5"))
    for place in places[1:3]:
        scripts.run("leave", "a", place, 0)
    state = wait_until(lambda: gateway.messages("waiting-state", waiting="3"))[0]
    assert state["departed"] in ("2,+1", "3")
    if state["departed"] == "3":  # a tick came between the two
        assert gateway.messages("waiting-state", waiting="4")[-1]["departed"] == "2"


def test_a_sold_out_line_is_let_go(admin, scripts, gateways):
    gateway = gateways()
    admin.create("a", stock=2, status="paused")
    for _ in range(5):
        scripts.join("a", gateway.name)
    admin("POST", "/admin/sessions/a/resume")
    message = gateway.wait_message("closed", session="a")
    assert message["reason"] == "sold-out" and message["tail"] == "5"
    wait_until(lambda: admin.live("a")["waiting"] == 0)
    assert len(gateway.messages("entry")) == 2 and admin.live("a")["phase"] == "sold-out"


def test_a_big_batch_goes_out_in_chunks(admin, scripts, gateways, client):
    gateway = gateways()
    admin.create("a", batch=1200, intervalMs=60000, status="paused")
    for _ in range(1100):
        scripts.join("a", gateway.name)
    admin("POST", "/admin/sessions/a/resume")
    wait_until(lambda: client.xlen(scripts.key("a", "admissions")) == 1100 and len(gateway.messages("entry")) == 1100, timeout=20)
    wait_until(lambda: client.zcard(scripts.key("a", "outbox")) == 0)
    assert [int(message["ticket"]) for message in gateway.messages("entry")] == list(range(1, 1101))


def test_a_place_without_connection_gets_a_token_but_no_message(admin, scripts, gateways, client):
    gateway = gateways()
    admin.create("a")
    place = scripts.join("a", mode="poll")
    wait_until(lambda: client.hget(scripts.key("a", "entries"), place))
    wait_until(lambda: client.zcard(scripts.key("a", "outbox")) == 0)
    assert gateway.messages("entry") == []


def test_a_removed_stream_is_not_made_again(admin, scripts, gateways, client):
    gateway = gateways()
    admin.create("a", status="paused")
    scripts.join("a", gateway.name)
    client.delete(gateway.stream)
    admin("POST", "/admin/sessions/a/resume")
    wait_until(lambda: admin.live("a")["admitted"] == 1)
    wait_until(lambda: client.zcard(scripts.key("a", "outbox")) == 0)
    assert not client.exists(gateway.stream)


def test_a_stream_that_cannot_be_written_does_not_lose_the_entry(admin, publisher, scripts, gateways, client):
    gateway = gateways()
    admin.create("a", status="paused")
    place = scripts.join("a", gateway.name)
    client.set(gateway.stream, "not a stream")
    admin("POST", "/admin/sessions/a/resume")
    publisher.wait_log("entry-untold")
    assert client.zcard(scripts.key("a", "outbox")) == 1
    client.delete(gateway.stream)
    client.xgroup_create(gateway.stream, "gateway", "$", mkstream=True)
    assert gateway.wait_message("entry", place=place)["ticket"] == "1"
    state = wait_until(lambda: gateway.messages("waiting-state", session="a"))[0]
    assert state["departed"] == "*"  # what failed may have held departures


def test_two_publishers_one_owner_and_a_takeover_after_a_crash(start_publisher, scripts, gateways, client):
    gateway = gateways()
    first = start_publisher(lease_ms=1500, publisher_id="p-1")
    admin = Admin(first.url("admin"))
    admin.create("a", batch=1, intervalMs=200)
    first.wait_log("owner", session="a")
    second = start_publisher(lease_ms=1500, publisher_id="p-2")
    second.wait_log("standby", session="a", owner="p-1")
    assert Admin(second.url("admin")).live("a")["owner"] == "p-1"
    assert metric(second, 'anteroom_session_owner{session="a"}') == 0
    assert metric(first, 'anteroom_session_owner{session="a"}') == 1
    for _ in range(10):
        scripts.join("a", gateway.name)
    wait_until(lambda: len(gateway.messages("entry")) >= 2)
    first.kill()
    begun = time.monotonic()
    second.wait_log("owner", session="a")
    assert time.monotonic() - begun < 1.5 + 0.1 + 0.5
    wait_until(lambda: len(gateway.messages("entry")) >= 10)
    tickets = [int(message["ticket"]) for message in gateway.messages("entry")]
    assert sorted(set(tickets)) == list(range(1, 11))
    assert client.xlen(scripts.key("a", "admissions")) == 10


def test_what_a_crashed_owner_left_undone_is_done(start_publisher, scripts, gateways, client):
    """Admitted by somebody who died before settling: the next owner signs, stores and tells."""
    gateway = gateways()
    first = start_publisher(lease_ms=500)
    admin = Admin(first.url("admin"))
    admin.create("a")
    first.wait_log("owner", session="a")
    first.kill()
    place = scripts.join("a", gateway.name)
    wait_until(lambda: scripts.run("admit", "a", "ghost", 500, 5000, "run", 0, 0, 0, 0, "", 500)[0] == "ok")
    assert client.zcard(scripts.key("a", "outbox")) == 1 and client.hlen(scripts.key("a", "entries")) == 0
    start_publisher(lease_ms=500)
    entry = gateway.wait_message("entry", place=place)
    assert jwt.decode(entry["token"], ENTRY_KEY, algorithms=["HS256"], audience="a")["jti"] == place
    wait_until(lambda: client.zcard(scripts.key("a", "outbox")) == 0)
    assert client.xlen(scripts.key("a", "admissions")) == 1


def test_a_stored_token_is_told_as_it_is(start_publisher, scripts, gateways):
    """Settled by somebody who died before telling: the stored token is told, byte for byte."""
    gateway = gateways()
    first = start_publisher(lease_ms=500)
    Admin(first.url("admin")).create("a")
    first.wait_log("owner", session="a")
    first.kill()
    place = scripts.join("a", gateway.name)
    wait_until(lambda: scripts.run("admit", "a", "ghost", 500, 5000, "run", 0, 0, 0, 0, "", 500)[0] == "ok")
    stored = jwt.encode({"iat": 1700000000, "exp": 1700000600, "jti": place}, "another-key-of-32-bytes-0123456789")
    scripts.run("settle", "a", place, stored)
    start_publisher(lease_ms=500)
    entry = gateway.wait_message("entry", place=place)
    assert entry["token"] == stored and entry["expires"] == "1700000600"


def test_a_silent_gateway_is_buried_and_its_places_parked(admin, publisher, scripts, gateways, client):
    living, dead = gateways("gw-1"), gateways("gw-2")
    admin.create("a", status="paused")
    place = scripts.join("a", dead.name)
    other = scripts.join("a", living.name)
    wait_until(lambda: metric(publisher, "anteroom_servers") == 2)
    dead.die()
    assert publisher.wait_log("server-dead", timeout=15)["reason"] == "silent"
    wait_until(lambda: client.zscore("servers", dead.name) is None)
    wait_until(lambda: not client.exists(dead.stream))
    assert client.zscore(scripts.key("a", "parked"), place) and client.zscore(scripts.key("a", "parked"), other) is None
    assert client.hkeys(scripts.key("a", "servers")) == [living.name]
    assert client.zscore("servers", living.name) and client.exists(living.stream)
    wait_until(lambda: metric(publisher, "anteroom_servers") == 1)


def test_a_new_boot_buries_the_old_one_at_once_and_keeps_the_stream(admin, publisher, scripts, gateways, client):
    old = gateways("gw-1")
    admin.create("a", status="paused")
    place = scripts.join("a", old.name)
    old.die()
    client.zrem("servers", old.name)
    client.zadd("servers", {"gw-1.boot0002": 1})
    assert publisher.wait_log("server-dead", timeout=4)["server"] == old.name
    wait_until(lambda: client.zscore(scripts.key("a", "parked"), place))
    publisher.wait_log("server-removed")
    assert client.exists(old.stream)


def test_an_operator_may_bury_a_silent_gateway_early(admin, publisher, gateways, client):
    gateway = gateways()
    wait_until(lambda: metric(publisher, "anteroom_servers") == 1)
    gateway.die()
    answer = wait_until(lambda: (a := admin("DELETE", "/admin/servers/gw-1")).status_code != 409 and a)
    assert answer.status_code == 202
    wait_until(lambda: client.zscore("servers", gateway.name) is None, timeout=3)


def test_a_frozen_publisher_wakes_up_without_burying_anybody(publisher, gateways):
    gateways()
    wait_until(lambda: metric(publisher, "anteroom_servers") == 1)
    publisher.signal(signal.SIGSTOP)
    wait_until(lambda: subprocess.run(["ps", "-o", "stat=", "-p", str(publisher.process.pid)], capture_output=True,
                                      text=True).stdout.startswith("T"))
    wait_until(lambda begun=time.monotonic(): time.monotonic() - begun > 6, what="six seconds of being frozen")
    publisher.signal(signal.SIGCONT)
    wait_until(lambda: metric(publisher, "anteroom_servers") == 1)
    wait_until(lambda begun=time.monotonic(): time.monotonic() - begun > 2.5, what="some looks")
    assert publisher.logged("server-dead") == []


def test_redis_away_and_back(admin, publisher, redis_server, folder, scripts, gateways, client):
    client.config_set("save", "3600 1")
    gateway = gateways()
    admin.create("a", status="paused")
    scripts.join("a", gateway.name)
    client.save()
    redis_server.kill()
    publisher.wait_log("redis-down", connection="commands")
    assert requests.get(publisher.url("metrics") + "/readyz", timeout=5).status_code == 503
    redis_server.start()
    wait_until(lambda: requests.get(publisher.url("metrics") + "/readyz", timeout=5).status_code == 200, timeout=15)
    wait_until(lambda: admin("POST", "/admin/sessions/a/resume").status_code == 200)
    gateway.wait_message("entry")


def test_redis_that_lost_everything_is_an_error_line(admin, publisher, scripts, client):
    admin.create("a")
    publisher.wait_log("owner", session="a")
    client.flushall()
    assert publisher.wait_log("data-lost", session="a")["level"] == "error"


def test_the_start_waits_for_redis(folder, tmp_path, daemons):
    publisher = daemons(folder.publisher(f"unix://{tmp_path}/redis.sock"))
    publisher.wait_log("redis-down")
    assert requests.get(publisher.url("metrics") + "/healthz", timeout=5).status_code == 200
    assert requests.get(publisher.url("metrics") + "/readyz", timeout=5).status_code == 503
    server = RedisServer(tmp_path)
    publisher.wait_log("redis-up", connection="commands")
    publisher.wait_log("redis-not-persistent")
    publisher.stop()
    server.close()


def test_a_redis_that_evicts_is_refused(folder, tmp_path):
    server = RedisServer(tmp_path, "--maxmemory", "100mb", "--maxmemory-policy", "allkeys-lru")
    publisher = folder.publisher(server.url)
    assert publisher.exit_code() == 1
    assert "noeviction" in publisher.logged("redis-evicts")[0]["detail"]
    server.client.config_set("maxmemory", 0)
    publisher = folder.publisher(server.url)
    publisher.wait_log("redis-may-evict")
    publisher.stop()
    server.close()


@pytest.mark.parametrize("arguments, words", [
    ([], "--entry-key-file"),
    (["--tick-ms=10"], "--tick-ms"),
    (["--nonsense=1"], "unknown argument"),
    (["--entry-key-file=/nowhere", "--admin-token-file=/nowhere"], "/nowhere"),
    (["--entry-key-file={key}", "--admin-token-file={bad}"], "line 1"),
    (["--entry-key-file={key}", "--admin-token-file={good}", "--redis-url=ftp://x"], "--redis-url"),
])
def test_bad_configuration_ends_with_2(folder, arguments, words):
    files = {"key": folder.entry_key, "good": folder.tokens, "bad": folder.write("bad", "tiny\n")}
    command = [str(BUILD / "anteroom-publisher"), *(argument.format(**files) for argument in arguments)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=10)
    assert done.returncode == 2 and words in done.stderr


def test_check_config_reads_the_keys_and_ends(folder):
    command = [str(BUILD / "anteroom-publisher"), f"--entry-key-file={folder.entry_key}", f"--admin-token-file={folder.tokens}"]
    assert subprocess.run([*command, "--check-config"], timeout=10).returncode == 0


def test_sessions_of_others_and_deleted_ones_leave_no_series_behind(admin, publisher, scripts, gateways):
    gateway = gateways()
    admin.create("admit")  # like a script: its series must not go with the session's
    scripts.join("admit", gateway.name)
    wait_until(lambda: metric(publisher, 'anteroom_session_admitted_total{session="admit",kind="actual"}') == 1)
    assert metric(publisher, 'anteroom_session_held{session="admit",reason="paused"}') == 0
    admin("DELETE", "/admin/sessions/admit", params={"force": "true"})
    page = wait_until(lambda: 'session="admit"' not in (text := requests.get(publisher.url("metrics") + "/metrics", timeout=5).text) and text)
    assert 'anteroom_redis_commands_total{command="admit",result="ok"}' in page
    assert metric(publisher, "anteroom_redis_memory_bytes") > 0 and metric(publisher, "anteroom_redis_up") == 1


def test_a_stop_in_the_middle_of_everything_is_clean(admin, publisher, scripts, gateways, redis_server):
    gateway = gateways()
    admin.create("a", batch=1000, intervalMs=50)
    for _ in range(200):
        scripts.join("a", gateway.name)
    publisher.stop()


def test_a_stop_with_a_hung_redis_ends_in_time(admin, publisher, redis_server):
    admin.create("a")
    publisher.wait_log("owner", session="a")
    redis_server.pause()
    begun = time.monotonic()
    publisher.stop()
    assert time.monotonic() - begun < 8
    redis_server.resume()
