"""What breaks on the way: nobody is lost, nobody is let in twice, everybody hears the truth again soon."""

import signal

import pytest
import requests

import proxy
import support
import visitors


@pytest.fixture
def persistent(tmp_path):
    """A Redis with an append-only file."""
    server = support.RedisServer(tmp_path, "--appendonly", "yes", "--appendfsync", "always")
    yield server
    server.close()


def waiting_streams(visit, gateway, count):
    streams = []
    for _ in range(count):
        streams.append(visit(gateway))
        streams[-1].wait_event("waiting-state")
    return streams


def test_a_message_that_comes_before_its_joins_answer_is_not_lost(admin, folder, redis_server, start_gateway, visit, client):
    """The answer to the join is held back until its entry message has been read and acknowledged."""
    between = proxy.Proxy(folder.path, redis_server.socket)
    gateway = start_gateway(redis_url=between.url)
    admin.create("s", batch=1, intervalMs=60000)
    first = visit(gateway)
    visitors.entry_of(first, "s")  # takes the token: the gateway knows the session now
    support.wait_until(lambda: client.zcard("session:{s}:outbox") == 0, what="an empty outbox")
    between.hold("anteroom-gateway")
    second = visit(gateway)
    support.wait_until(lambda: client.zcard("session:{s}:waiting") == 1, what="the join")
    admin("PATCH", "/admin/sessions/s", {"batch": 2, "intervalMs": 50})
    support.wait_until(lambda: client.xinfo_groups("server:gw-1:stream")[0]["lag"] == 0 and client.zcard("session:{s}:waiting") == 0,
                       what="the entry message to be read")
    between.release("anteroom-gateway")
    visitors.entry_of(second, "s")
    assert support.metric(gateway, "anteroom_entries_swept_total") == 0
    between.close()


def test_a_join_whose_client_goes_away_meanwhile_keeps_no_seat(admin, folder, redis_server, start_gateway, visit, client):
    between = proxy.Proxy(folder.path, redis_server.socket)
    gateway = start_gateway(redis_url=between.url)
    admin.create("s", status="paused", graceMs=0)
    waiting_streams(visit, gateway, 1)
    between.hold("anteroom-gateway")
    gone = visit(gateway)
    support.wait_until(lambda: client.zcard("session:{s}:waiting") == 2, what="the join")
    gone.close()
    between.release("anteroom-gateway")
    support.wait_until(lambda: client.zcard("session:{s}:waiting") == 1, what="the place to be given up")
    between.close()


def test_a_join_whose_answer_never_comes_is_parked_when_redis_answers_again(admin, folder, redis_server, start_gateway, visit, client):
    between = proxy.Proxy(folder.path, redis_server.socket)
    gateway = start_gateway(redis_url=between.url)
    admin.create("s", status="paused", graceMs=0)
    waiting_streams(visit, gateway, 1)
    between.hold("anteroom-gateway")
    lost = visit(gateway)
    support.wait_until(lambda: client.zcard("session:{s}:waiting") == 2, what="the join")
    assert lost.wait_event("unavailable", timeout=15)["data"]["code"] == "unavailable"
    between.release("anteroom-gateway")
    support.wait_until(lambda: client.zcard("session:{s}:waiting") == 1, timeout=20, what="the place nobody heard of to be given up")
    between.close()


def test_a_killed_gateways_visitors_come_back_to_their_places(admin, gateway, start_gateway, visit, client):
    admin.create("s", status="paused")
    streams = waiting_streams(visit, gateway, 20)
    tickets = [stream.last_id for stream in streams]
    other = start_gateway("gw-2")
    gateway.kill()
    for number, ticket in reversed(list(enumerate(tickets, 1))):
        back = visit(other, ticket=ticket)
        assert back.wait_event("waiting-state")["data"]["position"] == number
        assert back.ticket["ticket"] == number
    assert client.zcard("session:{s}:waiting") == 20


def test_places_of_a_dead_gateway_are_parked_and_pass_their_deadline(admin, gateway, start_gateway, visit, client):
    admin.create("s", status="paused", graceMs=1000)
    other = start_gateway("gw-2")
    waiting_streams(visit, gateway, 5)
    last = waiting_streams(visit, other, 1)[0]
    gateway.kill()
    last.wait_position(1, timeout=30)
    assert client.zcard("session:{s}:waiting") == 1
    support.wait_until(lambda: client.exists("server:gw-1:stream") == 0, timeout=20, what="the dead gateway's stream to go")


def test_a_restarted_gateway_is_a_new_boot_and_its_old_places_are_parked_at_once(admin, gateway, start_gateway, visit, client):
    admin.create("s", status="paused")
    waiting_streams(visit, gateway, 5)
    gateway.kill()
    again = start_gateway()
    support.wait_until(lambda: client.zcard("session:{s}:parked") == 5, timeout=10, what="five parked places")
    newcomer = waiting_streams(visit, again, 1)[0]
    assert newcomer.position == 6


def test_a_twin_waits_and_refuses_to_start(gateway, start_gateway):
    twin = start_gateway(wait=False)
    assert twin.exit_code(timeout=20) == 1
    assert twin.logged("server-id-taken")
    assert support.is_ready(gateway)


def test_a_frozen_gateway_resynchronises_before_it_says_another_word(admin, gateway, start_gateway, visit, client):
    admin.create("s", status="paused", graceMs=60000)
    streams = waiting_streams(visit, gateway, 6)
    other = start_gateway("gw-2")
    gateway.signal(signal.SIGSTOP)
    support.wait_until(lambda: client.zcard("session:{s}:parked") == 6, timeout=20, what="its places to be parked")
    moved = visit(other, ticket=streams[2].last_id)
    moved.wait_event("waiting-state")
    requests.post(other.url("public") + "/api/queue/leave", params={"ticket": streams[0].last_id}, timeout=5)
    moved.wait_position(2)
    gateway.signal(signal.SIGCONT)
    gateway.wait_log("resynchronise")
    streams[2].wait_event("superseded")
    streams[0].wait_event("closed")
    for number, stream in ((1, streams[1]), (3, streams[3]), (4, streams[4]), (5, streams[5])):
        stream.wait_position(number)
    support.wait_until(lambda: client.zcard("session:{s}:parked") == 0, what="the places to be taken back")


@pytest.mark.parametrize("harm", ["delete", "trim", "drop the group"])
def test_a_harmed_stream_costs_two_seconds_and_nobody(admin, gateway, visit, client, harm):
    admin.create("s", batch=1, intervalMs=50, status="paused")
    streams = waiting_streams(visit, gateway, 30)
    admin("POST", "/admin/sessions/s/resume")

    def harmed_until_all_are_in():
        if harm == "delete":
            client.delete("server:gw-1:stream")
        elif harm == "trim":
            client.xtrim("server:gw-1:stream", maxlen=0, approximate=False)
        elif client.exists("server:gw-1:stream"):
            client.execute_command("XGROUP", "DESTROY", "server:gw-1:stream", "gateway")
        return all(stream.named("entry") for stream in streams)
    support.wait_until(harmed_until_all_are_in, timeout=60, what="everybody to be let in in spite of it")
    tickets = [visitors.entry_of(stream, "s", timeout=20)["ticket"] for stream in streams]
    assert tickets == list(range(1, 31))


def test_poisoned_messages_are_counted_and_passed_over(admin, gateway, visit, client):
    admin.create("s", batch=1, intervalMs=100, status="paused")
    stream = waiting_streams(visit, gateway, 1)[0]
    epoch, place = client.hget("session:{s}:state", "epoch"), stream.ticket["place"]
    poison = [{"type": "entry"}, {"x": "y"}, {"type": "waiting-state", "session": "s", "epoch": "x"},
              {"type": "entry", "session": "s", "epoch": epoch, "place": place, "token": "bad"},
              {"type": "closed", "session": "s", "epoch": epoch, "place": place, "reason": 'x"}\n\nevent: entry\ndata: {"token":"y'}]
    for number in range(200):
        client.xadd("server:gw-1:stream", poison[number % len(poison)])
    support.wait_until(lambda: support.metric(gateway, "anteroom_messages_bad_total") >= 200, what="200 bad messages")
    assert not stream.ended
    admin("POST", "/admin/sessions/s/resume")
    visitors.entry_of(stream, "s")
    support.wait_until(lambda: client.xlen("server:gw-1:stream") == 0, what="an empty stream")
    assert client.xpending("server:gw-1:stream", "gateway")["pending"] == 0


def test_redis_away_and_back_with_its_data(tmp_path, persistent, folder, daemons, visit):
    """Open streams stay open through a restart of Redis; what could not be written is written afterwards."""
    publisher = daemons(folder.publisher(persistent.url, tick_ms=100))
    publisher.address("metrics")
    gateway = daemons(support.Daemon("anteroom-gateway", {
        "redis_url": persistent.url, "entry_key_file": folder.entry_key, "ticket_key_file": folder.ticket_key, "listen": "127.0.0.1:0",
        "metrics_listen": "127.0.0.1:0", "server_id": "gw-1", "join_limit": "off", "drain_notice_s": 0, "drain_s": 0}))
    support.wait_until(lambda: support.is_ready(gateway), what="a ready gateway")
    admin = support.Admin(publisher.url("admin"))
    admin.create("s", batch=1, intervalMs=100, status="paused", graceMs=60000)
    streams = waiting_streams(visit, gateway, 5)
    persistent.kill()
    gateway.wait_log("redis-down", connection="commands")
    ticket = streams[4].last_id
    streams[4].close()
    left = requests.post(gateway.url("public") + "/api/queue/leave", params={"ticket": streams[3].last_id}, timeout=5)
    assert left.status_code == 204
    persistent.start()
    support.wait_until(lambda: persistent.client.zcard("session:{s}:parked") == 1 and persistent.client.zcard("session:{s}:waiting") == 4,
                       timeout=20, what="the park and the leave")
    back = visit(gateway, ticket=ticket)
    assert back.wait_event("waiting-state")["data"]["position"] == 4
    support.wait_until(lambda: admin("POST", "/admin/sessions/s/resume").status_code == 200, what="the publisher to be back")
    for stream, number in ((streams[0], 1), (streams[1], 2), (streams[2], 3), (back, 5)):
        assert visitors.entry_of(stream, "s", timeout=20)["ticket"] == number
    admin.close()


def test_scripts_flushed_all_the_time(admin, gateway, visit, client):
    admin.create("s", batch=1, intervalMs=50)
    tickets = []
    for _ in range(20):
        client.script_flush()
        tickets.append(visitors.entry_of(visit(gateway), "s")["ticket"])
    assert tickets == list(range(1, 21))


def test_a_publisher_killed_again_and_again_loses_nobody(admin, publisher, start_publisher, gateway, visit, client):
    admin.create("s", batch=2, intervalMs=50, status="paused", graceMs=60000)
    streams = waiting_streams(visit, gateway, 60)
    admin("POST", "/admin/sessions/s/resume")
    current = publisher
    for _ in range(6):
        done = client.hget("session:{s}:state", "admitted")
        current.kill()
        current = start_publisher(lease_ms=1000)
        support.wait_until(lambda: client.hget("session:{s}:state", "admitted") != done or client.zcard("session:{s}:waiting") == 0,
                           timeout=20, what="somebody to be admitted again")
    claims = [visitors.entry_of(stream, "s", timeout=30) for stream in streams]
    assert [claim["ticket"] for claim in claims] == list(range(1, 61))
    admissions = [fields["place"] for _, fields in client.xrange("session:{s}:admissions")]
    assert admissions == [claim["jti"] for claim in claims]


def test_sigterm_ends_every_stream_with_a_retry_and_keeps_every_place(admin, start_gateway, visit, client):
    admin.create("s", status="paused")
    leaving, staying = start_gateway("gw-1", drain_s=1), start_gateway("gw-2")
    streams = waiting_streams(visit, leaving, 30)
    leaving.signal(signal.SIGTERM)
    for stream in streams:
        stream.wait_end()
        assert stream.retries == 2  # in the first frame and in the last
        assert not stream.named("closed") and 1000 <= stream.retry < 5000 and not stream.last_id.endswith(".e")
    assert leaving.exit_code() == 0
    assert client.zcard("session:{s}:waiting") == client.zcard("session:{s}:parked") == 30
    assert not client.exists("server:gw-1:stream", "server:gw-1:lock")
    assert [visit(staying, ticket=stream.last_id).wait_event("waiting-state")["data"]["position"] for stream in streams] == list(range(1, 31))
