"""What a publisher does when something dies, hangs or comes back: publishers, gateways, Redis, itself."""

import pathlib
import signal
import time

import jwt
import requests

from support import ENTRY_KEY, Admin, metric, wait_until


def process_state(pid):
    """R, S, T and so on: see proc_pid_stat(5). The name before it, in brackets, may hold anything."""
    return pathlib.Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]


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
    first = start_publisher(lease_ms=3000, publisher_id="p-1")
    admin = Admin(first.url("admin"))
    admin.create("a", batch=1, intervalMs=200)
    first.wait_log("owner", session="a")
    second = start_publisher(lease_ms=3000, publisher_id="p-2")
    second.wait_log("standby", session="a", owner="p-1")
    assert Admin(second.url("admin")).live("a")["owner"] == "p-1"
    assert metric(second, "anteroom_session_owner", session="a") == 0
    assert metric(first, "anteroom_session_owner", session="a") == 1
    for _ in range(10):
        scripts.join("a", gateway.name)
    wait_until(lambda: len(gateway.messages("entry")) >= 2)
    first.kill()
    begun = time.monotonic()
    second.wait_log("owner", session="a")
    assert time.monotonic() - begun < 3 + 0.1 + 2  # lease, tick, and a busy machine
    # What the first told and had not confirmed is told again: the same token, never another admission.
    wait_until(lambda: {message["ticket"] for message in gateway.messages("entry")} == {str(n) for n in range(1, 11)})
    assert len({message["token"] for message in gateway.messages("entry")}) == 10
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
    wait_until(lambda: scripts.run("admit", "a", "ghost", 500, 5000, client.info()["run_id"], 0, 0, 0, 0, "", "", 500)[0] == "ok")
    assert client.zcard(scripts.key("a", "outbox")) == 1 and client.hlen(scripts.key("a", "entries")) == 0
    start_publisher(lease_ms=500)
    entry = gateway.wait_message("entry", place=place)
    assert jwt.decode(entry["token"], ENTRY_KEY, algorithms=["HS256"], audience="a")["jti"] == place
    wait_until(lambda: client.zcard(scripts.key("a", "outbox")) == 0)
    assert client.xlen(scripts.key("a", "admissions")) == 1


def test_a_stored_token_is_told_as_it_is(start_publisher, scripts, gateways, client):
    """Settled by somebody who died before telling: the stored token is told, byte for byte."""
    gateway = gateways()
    first = start_publisher(lease_ms=500)
    Admin(first.url("admin")).create("a")
    first.wait_log("owner", session="a")
    first.kill()
    place = scripts.join("a", gateway.name)
    wait_until(lambda: scripts.run("admit", "a", "ghost", 500, 5000, client.info()["run_id"], 0, 0, 0, 0, "", "", 500)[0] == "ok")
    stored = jwt.encode({"iat": 1700000000, "exp": 1700000600, "jti": place}, "another-key-of-32-bytes-0123456789")
    scripts.run("settle", "a", place, stored, int(client.zscore(scripts.key("a", "active"), place)))
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
    publisher.wait_log("server-dead", server=gateway.name, reason="condemned")
    wait_until(lambda: client.zscore("servers", gateway.name) is None)


def test_a_frozen_publisher_wakes_up_without_burying_anybody(publisher, gateways):
    gateways()
    wait_until(lambda: metric(publisher, "anteroom_servers") == 1)
    publisher.signal(signal.SIGSTOP)
    wait_until(lambda: process_state(publisher.process.pid) == "T", what="a frozen publisher")
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
    gateway.wait_message("waiting-state", waiting="1")
    wait_until(lambda: client.hmget(scripts.key("a", "state"), "rev", "dirty")[1] == "0" and
               client.hget(scripts.key("a", "state"), "announced") == client.hget(scripts.key("a", "state"), "rev"), what="all told")
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


def test_redis_that_came_back_older_is_said_once_and_the_line_goes_on(start_publisher, scripts, gateways, client):
    gateway, publisher = gateways(), start_publisher(restore_ms=100)
    Admin(publisher.url("admin")).create("a")
    publisher.wait_log("owner", session="a")
    wait_until(lambda: int(client.hget(scripts.key("a", "state"), "announced")) >= 2)
    client.hset(scripts.key("a", "state"), "rev", 1)
    assert publisher.wait_log("data-lost", session="a")["level"] == "error"
    publisher.wait_log("session-reopened", session="a")
    wait_until(lambda: client.hget(scripts.key("a", "state"), "phase") == "open", what="the end of the window")
    place = scripts.join("a", gateway.name)
    gateway.wait_message("entry", place=place)
    assert len(publisher.logged("data-lost")) == 1


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
    assert time.monotonic() - begun < 15  # 5 s for Redis, the rest for a busy machine
    redis_server.resume()
