"""The publisher as a scheduler: who is admitted, who is told, and how it starts."""

import subprocess
import time

import jwt
import pytest
import requests

from support import BUILD, ENTRY_KEY, Admin, RedisServer, metric, wait_until


def test_the_first_to_come_goes_straight_in_with_a_valid_token(start_publisher, folder, scripts, gateways):
    publisher = start_publisher(tick_ms=60000, lease_ms=600000)  # so only the doorbell can be that quick
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
    state = scripts.key("a", "state")
    wait_until(lambda: client.hget(state, "announced") == client.hget(state, "rev"), what="a confirmed announcement")
    announced, clock = len(gateway.messages("waiting-state")), int(client.hget(state, "seen"))
    wait_until(lambda: int(client.hget(state, "seen")) > clock + 300, what="three more ticks")
    assert len(gateway.messages("waiting-state")) == announced
    assert len(gateway.messages("entry")) == 4


def test_the_pace_is_kept_and_measured(admin, scripts, gateways, client):
    gateway = gateways()
    admin.create("a", batch=2, intervalMs=500, status="paused")
    for _ in range(12):
        scripts.join("a", gateway.name)
    admin("POST", "/admin/sessions/a/resume")
    live = wait_until(lambda: (figures := admin.live("a"))["admitted"] >= 8 and figures, what="eight admissions")
    assert live["ratePerSecond"] == pytest.approx(4, rel=0.5)
    wait_until(lambda: admin.live("a")["admitted"] == 12)
    stamps = sorted(int(entry["at"]) for _, entry in client.xrange(scripts.key("a", "admissions")))
    for i, stamp in enumerate(stamps):  # a late tick may use its interval's batch up to the interval's end
        assert stamp - stamps[0] > (i // 2 - 1) * 500
    tickets = [int(message["ticket"]) for message in gateway.messages("entry")]
    assert tickets == sorted(tickets)


def test_departures_are_told_as_tickets(admin, scripts, gateways):
    gateway = gateways()
    admin.create("a", status="paused")
    places = [scripts.join("a", gateway.name) for _ in range(5)]
    wait_until(lambda: gateway.messages("waiting-state", tail="5"))
    for place in places[1:3]:
        scripts.run("leave", "a", place, 0)
    state = wait_until(lambda: gateway.messages("waiting-state", tail="5", waiting="3"))[0]
    assert state["departed"] in ("2,+1", "3")
    if state["departed"] == "3":  # a tick came between the two
        assert gateway.messages("waiting-state", tail="5", waiting="4")[-1]["departed"] == "2"


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
    wait_until(lambda: client.xlen(scripts.key("a", "admissions")) == 1100, timeout=20)
    wait_until(lambda: len(gateway.messages("entry")) == 1100)
    wait_until(lambda: client.zcard(scripts.key("a", "outbox")) == 0)
    assert [int(message["ticket"]) for message in gateway.messages("entry")] == list(range(1, 1101))


def test_a_place_without_connection_gets_a_token_but_no_message(admin, scripts, gateways, client):
    gateway = gateways()
    admin.create("a")
    place = scripts.join("a", mode="poll")
    wait_until(lambda: client.hget(scripts.key("a", "entries"), place))
    wait_until(lambda: client.zcard(scripts.key("a", "outbox")) == 0)
    assert gateway.messages("entry") == []


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
    command = [str(BUILD / "anteroom-publisher"), "--check-config", f"--entry-key-file={folder.entry_key}",
               f"--admin-token-file={folder.tokens}"]
    assert subprocess.run(command, timeout=10).returncode == 0


def test_sessions_of_others_and_deleted_ones_leave_no_series_behind(admin, publisher, scripts, gateways):
    gateway = gateways()
    admin.create("admit")  # like a script: its series must not go with the session's
    scripts.join("admit", gateway.name)
    wait_until(lambda: metric(publisher, "anteroom_session_admitted_total", session="admit", kind="actual") == 1)
    assert metric(publisher, "anteroom_session_held", session="admit", reason="paused") == 0
    admin("DELETE", "/admin/sessions/admit", params={"force": "true"})
    url = publisher.url("metrics") + "/metrics"
    page = wait_until(lambda: 'session="admit"' not in (text := requests.get(url, timeout=5).text) and text)
    assert 'anteroom_redis_commands_total{command="admit",result="ok"}' in page
    assert metric(publisher, "anteroom_redis_memory_bytes") > 0 and metric(publisher, "anteroom_redis_up") == 1


def test_a_refill_is_met_however_rare_the_ticks(start_publisher, scripts, gateways):
    gateway, publisher = gateways(), start_publisher(tick_ms=60000, lease_ms=600000)
    api = Admin(publisher.url("admin"))
    api.create("a", batch=1, intervalMs=300, status="paused")
    publisher.wait_log("owner", session="a")
    places = [scripts.join("a", gateway.name) for _ in range(4)]
    api("POST", "/admin/sessions/a/resume")
    for place in places:
        gateway.wait_message("entry", place=place)
    api.close()
