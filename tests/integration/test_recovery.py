"""What a gateway does on its own until things are right again."""

import signal
import threading
import time

import pytest
import redis
import requests

import proxy
import support
from test_faults import waiting_streams


def test_lookups_that_get_no_answer_are_repeated(admin, folder, redis_server, start_gateway, visit, client, scripts):
    """Its places were parked behind its back, and while it asks the connection breaks: nobody may be lost by that. There are more
    of them than the slow audit of all connections could find within the grace."""
    admin.create("s", batch=1, intervalMs=60000, status="paused", graceMs=10000)
    between = proxy.Proxy(folder.path, redis_server.socket)
    gateway = start_gateway(redis_url=between.url)
    streams = waiting_streams(visit, gateway, 400)
    name = client.zrange("servers", 0, -1)[0]
    cursor = "0"
    while (cursor := scripts.run("reap", "s", name, cursor)[0]) != "0":
        pass
    assert client.zcard("session:{s}:parked") == 400
    between.hold("anteroom-gateway")
    asked = between.asked("anteroom-gateway", "EVALSHA")
    client.delete("server:gw-1:stream")
    support.wait_until(lambda: between.asked("anteroom-gateway", "EVALSHA") >= asked + 400, what="every place to be asked for")
    cursor = "0"  # they were taken back, but nobody heard of it; now they are parked once more
    while (cursor := scripts.run("reap", "s", name, cursor)[0]) != "0":
        pass
    between.cut("anteroom-gateway")
    support.wait_until(lambda: client.zcard("session:{s}:parked") == 0, timeout=20, what="every place to be taken back")
    assert client.zcard("session:{s}:waiting") == 400
    assert not any(stream.ended for stream in streams)
    between.close()


def fill_memory(client, redis_server):
    del redis_server
    client.config_set("maxmemory", 1)
    return lambda: client.config_set("maxmemory", 0)


def fill_disk(client, redis_server):
    """Redis takes no writes while it cannot save: MISCONF."""
    (redis_server.folder / "dump.rdb").mkdir()
    client.config_set("save", "3600 1")
    client.bgsave()
    support.wait_until(lambda: client.info("persistence")["rdb_last_bgsave_status"] == "err", what="a save that fails")
    with pytest.raises(redis.ResponseError, match="MISCONF"):
        client.set("x", 1)
    return lambda: client.config_set("stop-writes-on-bgsave-error", "no")


@pytest.mark.parametrize("fill", [fill_memory, fill_disk])
def test_parks_and_leaves_outlive_a_full_redis(admin, gateway, visit, client, redis_server, fill):
    admin.create("s", batch=1, intervalMs=60000, status="paused")
    streams = waiting_streams(visit, gateway, 5)
    empty = fill(client, redis_server)
    refused = requests.post(gateway.url("public") + "/api/queue/join?sessionId=s", timeout=5)
    assert refused.status_code == 503 and int(refused.headers["Retry-After"]) > 0
    for stream in streams[:4]:
        stream.close()
    left = requests.post(gateway.url("public") + "/api/queue/leave", params={"ticket": streams[4].last_id}, timeout=5)
    assert left.status_code == 204
    support.wait_until(lambda: support.metric(gateway, "anteroom_redis_commands_total", command="park", result="refused by the peer") >= 4,
                       what="four refused parks")
    empty()
    support.wait_until(lambda: client.zcard("session:{s}:parked") == 4 and client.zcard("session:{s}:waiting") == 4, timeout=20,
                       what="the parks and the leave")


def test_who_loses_the_lock_ends_and_leaves_the_stream_alone(admin, gateway, visit, client):
    admin.create("s", status="paused")
    streams = waiting_streams(visit, gateway, 2)
    started = support.metric(gateway, "process_start_time_seconds")
    support.wait_until(lambda: time.time() - started > 6.5, what="a gateway that is older than a twin would wait")
    stop = threading.Event()

    def usurp():
        while not stop.wait(0.02):
            client.set("server:gw-1:lock", "other", px=60000)
    thread = threading.Thread(target=usurp)
    thread.start()
    try:
        assert gateway.exit_code(timeout=15) == 1
    finally:
        stop.set()
        thread.join()
    assert len(gateway.logged("lock-lost")) == 1 and not gateway.logged("server-id-taken")
    for stream in streams:
        stream.wait_end()
        assert not stream.last_id.endswith(".e")
    assert client.zcard("session:{s}:waiting") == 2


def test_a_cookie_does_not_go_round_the_limit(admin, start_gateway):
    """Where each connection is its own place the cookie does not count, so each join does."""
    admin.create("m", status="paused", perUser="many")
    gateway = start_gateway(join_limit="3/3600")
    url = gateway.url("public") + "/api/queue/join?sessionId=m"
    first = requests.post(url, timeout=5)
    cookie = {"anteroom_ticket_m": first.json()["ticket"]}
    assert [requests.post(url, cookies=cookie, timeout=5).status_code for _ in range(4)] == [200, 200, 429, 429]
    stream = requests.get(gateway.url("public") + "/api/queue/stream?sessionId=m", cookies=cookie, timeout=5)
    assert stream.status_code == 429


def test_figures_other_than_the_position_are_kept_fresh(admin, gateway, visit):
    admin.create("s", status="paused")
    first = waiting_streams(visit, gateway, 6)[0]
    first.wait(lambda: first.named("waiting-state")[-1]["data"]["waiting"] == 6, timeout=12, what="six waiting")
    count = len(first.named("waiting-state"))
    assert first.positions == [1] * count and count <= 4


def test_a_post_join_with_the_ticket_takes_the_place_from_its_stream(admin, gateway, start_gateway, visit):
    admin.create("s", status="paused")
    other = start_gateway("gw-2")
    waiting_streams(visit, gateway, 300)  # the audit of all connections comes to the next ones only after 20 s
    for taker, stream in zip((gateway, other), waiting_streams(visit, gateway, 2)):
        joined = requests.post(taker.url("public") + "/api/queue/join", params={"sessionId": "s", "ticket": stream.last_id}, timeout=5)
        assert joined.json()["status"] == "WAITING"
        stream.wait_event("superseded", timeout=5)
        stream.wait_end()


def test_late_answers_are_no_data_loss(admin, folder, redis_server, start_gateway, visit, client):
    """Messages overtake the answers to questions that were asked before them: nothing to be alarmed about."""
    between = proxy.Proxy(folder.path, redis_server.socket)
    gateway = start_gateway(redis_url=between.url)
    admin.create("s", batch=1, intervalMs=60000, status="paused")
    streams = waiting_streams(visit, gateway, 20)
    leave = gateway.url("public") + "/api/queue/leave"
    requests.post(leave, params={"ticket": streams.pop(0).last_id}, timeout=5)  # Redis knows the script from now on
    streams[-1].wait_position(19)
    for left, stream in enumerate(streams[:5], 1):
        between.hold_from("anteroom-gateway", "HMGET")  # where is the line?
        requests.post(leave, params={"ticket": stream.last_id}, timeout=5)
        streams[-1].wait_position(19 - left)  # the message has been handled, the answer has not come
        between.release("anteroom-gateway")
        stream.wait_event("closed")
    assert not gateway.logged("redis-older")
    between.close()


def test_a_session_may_be_deleted_and_made_again(admin, gateway, visit, client):
    admin.create("s", status="paused")
    stream = waiting_streams(visit, gateway, 1)[0]
    assert admin("DELETE", "/admin/sessions/s?force=true").status_code == 204
    assert stream.wait_event("closed")["data"]["reason"] == "closed"
    join = gateway.url("public") + "/api/queue/join?sessionId=s"
    assert requests.post(join, timeout=5).json()["code"] == "unknown-session"
    client.delete("session:{s}:state")  # as when the tombstone has gone
    assert requests.post(join, timeout=5).json()["code"] == "unknown-session"
    admin.create("s", status="paused", graceMs=0)
    again = waiting_streams(visit, gateway, 2)
    assert again[1].position == 2
    scripts = support.Scripts(client)
    assert scripts.run("leave", "s", again[0].ticket["place"], 0)[0] == "departed"
    again[1].wait_position(1)
    assert again[0].wait_event("closed")["data"]["reason"] == "expired"


def test_a_signal_to_read_keys_again_is_all_or_nothing(gateway, folder):
    folder.ticket_key.write_text("short")
    gateway.signal(signal.SIGHUP)
    gateway.wait_log("keys-kept")
    folder.ticket_key.write_text("another-ticket-key-0123456789-0123456789")
    gateway.signal(signal.SIGHUP)
    gateway.wait_log("keys-read")


def test_a_password_comes_from_a_file_and_goes_nowhere_else(redis_server, folder, client, start_gateway):
    with client.client() as link:  # one connection, which stays let in
        link.config_set("requirepass", "a-password-of-redis")
        try:
            right = start_gateway("gw-1", redis_password_file=folder.write("right", "a-password-of-redis\n"))
            wrong = start_gateway("gw-2", wait=False, redis_password_file=folder.write("wrong", "another-password"))
            wrong.wait_log("redis-down", connection="commands")
            assert not support.is_ready(wrong)
            for daemon in (right, wrong):
                assert "password-of-redis" not in daemon.text() and "another-password" not in daemon.text()
        finally:
            link.config_set("requirepass", "")
