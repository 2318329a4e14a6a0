"""Redis comes back empty or older: everybody who is connected keeps number and order, newcomers stand behind, nobody enters twice."""

import shutil
import signal
import time

import pytest
import requests

from support import Admin, wait_until
from visitors import entry_of


def state(client, field, session="s"):
    return client.hget(f"session:{{{session}}}:state", field)


def waiting(client, session="s"):
    return client.zrange(f"session:{{{session}}}:waiting", 0, -1, withscores=True)


def wait_open(client, epoch, session="s"):
    """The session is open again, in a later epoch."""
    wait_until(lambda: int(state(client, "epoch", session) or 0) > epoch and state(client, "phase", session) == "open", 20,
               "the end of the restoration")


@pytest.fixture
def quick(start_publisher, start_gateway):
    """Two publishers, two gateways, a window of one second."""
    daemons = [start_publisher(publisher_id=f"p{n}", restore_ms=1000, lease_ms=1000) for n in range(2)]
    return daemons, [start_gateway(f"gw-{n}", restore_ms=1000) for n in (1, 2)]


def visit_all(visit, gateways, count):
    streams = []
    for n in range(count):
        streams.append(visit(gateways[n % len(gateways)]))
        streams[-1].wait_position(n + 1)
    return streams


def test_an_empty_redis_gets_every_connection_back_with_its_number(quick, client, visit):
    publishers, gateways = quick
    api = Admin(publishers[0].url("admin"))
    api.create("s", status="paused", batch=5, intervalMs=100)
    streams = visit_all(visit, gateways, 12)
    streams[3].close()
    wait_until(lambda: client.zcard("session:{s}:parked") == 1, what="the park")
    epoch = int(state(client, "epoch"))
    client.flushall()
    wait_open(client, epoch)
    back = waiting(client)
    assert [int(score) for _, score in back] == [1, 2, 3, 5, 6, 7, 8, 9, 10, 11, 12]
    assert [place for place, _ in back] == [stream.ticket["place"] for stream in streams if stream is not streams[3]]
    late = visit(gateways[0])
    late.wait_event("waiting-state")
    assert late.ticket["ticket"] > 12
    gone = visit(gateways[1], ticket=streams[3].last_id)  # it comes back late, with its signed ticket
    gone.wait_event("waiting-state")
    assert gone.ticket["ticket"] == 4
    assert api("POST", "/admin/sessions/s/resume").status_code == 200
    entered = [int(entry_of(stream, "s")["ticket"]) for stream in streams[:3] + [gone] + streams[4:] + [late]]
    assert entered[:12] == list(range(1, 13)) and entered[12] > 12
    tickets = [int(fields["ticket"]) for _, fields in client.xrange("session:{s}:admissions")]
    assert tickets == entered
    for stream in streams:
        assert stream.positions == sorted(stream.positions, reverse=True), "no position rises"


def test_who_was_admitted_before_is_not_admitted_again(quick, client, visit):
    publishers, gateways = quick
    api = Admin(publishers[0].url("admin"))
    api.create("s", batch=3, intervalMs=86400000)
    streams = [visit(gateways[n % 2]) for n in range(8)]
    wait_until(lambda: sum(1 for stream in streams if stream.named("entry")) == 3, what="three entries")
    left = [stream for stream in streams if not stream.named("entry")]
    for stream in left:
        stream.wait_event("waiting-state")
    before = {stream: stream.ticket["ticket"] for stream in left}
    used = next(stream for stream in streams if stream.named("entry"))
    epoch = int(state(client, "epoch"))
    wait_until(lambda: state(client, "announced") == state(client, "rev"), what="everybody told")
    client.flushall()
    wait_open(client, epoch)
    assert int(state(client, "head")) == 3 and int(state(client, "admitted")) == 3
    again = visit(gateways[0], ticket=used.last_id.removesuffix(".e"))  # a ticket below the head: the back of the line
    again.wait_event("waiting-state")
    assert again.ticket["ticket"] > 8
    assert api("PATCH", "/admin/sessions/s", {"batch": 100, "intervalMs": 100}).status_code == 200
    for stream in left:
        assert entry_of(stream, "s")["ticket"] == before[stream]
    assert entry_of(again, "s")["ticket"] > 8
    assert all(len(stream.named("entry")) == 1 for stream in streams)


def test_a_second_loss_within_the_window_changes_nothing(quick, client, visit):
    publishers, gateways = quick
    Admin(publishers[0].url("admin")).create("s", status="paused")
    streams = visit_all(visit, gateways, 10)
    epoch = int(state(client, "epoch"))
    client.flushall()
    wait_until(lambda: state(client, "phase") == "restoring" or int(state(client, "epoch") or 0) > epoch, what="the window")
    second = int(state(client, "epoch"))
    client.flushall()
    wait_open(client, second)
    assert [(place, int(score)) for place, score in waiting(client)] == \
        [(stream.ticket["place"], n + 1) for n, stream in enumerate(streams)]


def test_without_publishers_the_gateways_open_it_and_a_cold_publisher_goes_on(quick, client, visit, start_publisher):
    publishers, gateways = quick
    Admin(publishers[0].url("admin")).create("s", status="paused", batch=50, intervalMs=100, stock=100)
    streams = visit_all(visit, gateways, 6)
    for daemon in publishers:
        daemon.kill()
    epoch = int(state(client, "epoch"))
    client.flushall()
    wait_until(lambda: len(waiting(client)) == 6, 20, "everybody put back")
    assert state(client, "phase") == "restoring" and int(state(client, "epoch")) > epoch
    assert client.hget("session:{s}:config", "stock") == "100" and client.sismember("sessions", "s")
    refused = requests.post(gateways[0].url("public") + "/api/queue/join?sessionId=s", timeout=5)
    assert refused.status_code == 503 and refused.json()["code"] == "unavailable"
    cold = start_publisher(publisher_id="cold", restore_ms=1000)
    wait_open(client, epoch)
    assert Admin(cold.url("admin"))("POST", "/admin/sessions/s/resume").status_code == 200
    assert [int(entry_of(stream, "s")["ticket"]) for stream in streams] == [1, 2, 3, 4, 5, 6]


def test_a_gateway_that_is_late_puts_its_places_back_all_the_same(quick, client, visit):
    publishers, gateways = quick
    Admin(publishers[0].url("admin")).create("s", status="paused")
    streams = visit_all(visit, gateways, 8)
    epoch = int(state(client, "epoch"))
    gateways[1].signal(signal.SIGSTOP)
    try:
        client.flushall()
        wait_open(client, epoch)
        assert [int(score) for _, score in waiting(client)] == [1, 3, 5, 7]
        newcomer = visit(gateways[0])
        newcomer.wait_event("waiting-state")
        assert newcomer.ticket["ticket"] > 8
    finally:
        gateways[1].signal(signal.SIGCONT)
    wait_until(lambda: [int(score) for _, score in waiting(client)][:8] == list(range(1, 9)), 20, "the late ones, in their places")
    assert [place for place, _ in waiting(client)][:8] == [stream.ticket["place"] for stream in streams]
    assert not any(stream.ended for stream in streams)


def test_older_data_is_mended(redis_server, quick, client, visit, tmp_path):
    """A snapshot from before some joined, some left and some were admitted: nobody is admitted again, nobody is lost."""
    publishers, gateways = quick
    api = Admin(publishers[0].url("admin"))
    api.create("s", status="paused", batch=2, intervalMs=86400000)
    streams = visit_all(visit, gateways, 6)
    wait_until(lambda: state(client, "announced") == state(client, "rev"), what="everybody told")
    client.save()
    shutil.copy(tmp_path / "dump.rdb", tmp_path / "older.rdb")
    more = [visit(gateways[n % 2]) for n in range(4)]
    for stream in more:
        stream.wait_event("waiting-state")
    assert api("POST", "/admin/sessions/s/resume").status_code == 200
    for stream in streams[:2]:
        entry_of(stream, "s")
    leaving = streams[3].ticket["place"]
    assert requests.post(gateways[0].url("public") + f"/api/queue/leave?ticket={streams[3].last_id}", timeout=5).status_code == 204
    wait_until(lambda: client.zscore("session:{s}:waiting", leaving) is None, what="the leave")
    wait_until(lambda: state(client, "announced") == state(client, "rev"), what="everybody told")
    epoch, order = int(state(client, "epoch")), waiting(client)
    redis_server.kill()
    shutil.copy(tmp_path / "older.rdb", tmp_path / "dump.rdb")
    redis_server.start()
    wait_open(client, epoch)
    wait_until(lambda: [entry for entry in waiting(client) if entry[0] != leaving] == order, what="the order as it was")
    assert int(state(client, "head")) == 2
    assert api("PATCH", "/admin/sessions/s", {"batch": 50, "intervalMs": 100}).status_code == 200
    for stream in [streams[2]] + streams[4:] + more:
        entry_of(stream, "s")
    assert all(len(stream.named("entry")) <= 1 for stream in streams + more)
    places = [fields["place"] for _, fields in client.xrange("session:{s}:admissions")]
    assert streams[0].ticket["place"] not in places and len(places) == len(set(places))


def test_a_publisher_that_knows_nothing_lets_nobody_in_twice_on_older_data(redis_server, quick, start_publisher, client, visit, tmp_path):
    """It ticks before any gateway has looked, and the lease in the data has ended long ago."""
    publishers, gateways = quick
    Admin(publishers[0].url("admin")).create("s", batch=2, intervalMs=4000)
    streams = [visit(gateways[n % 2]) for n in range(6)]
    wait_until(lambda: client.zcard("session:{s}:waiting") == 4 and client.xlen("session:{s}:admissions") == 2, what="two admitted")
    client.save()
    shutil.copy(tmp_path / "dump.rdb", tmp_path / "older.rdb")
    wait_until(lambda: client.xlen("session:{s}:admissions") == 4 and client.zcard("session:{s}:outbox") == 0, what="four admitted")
    epoch = int(state(client, "epoch"))
    for publisher in publishers:
        publisher.kill()
    for gateway in gateways:
        gateway.signal(signal.SIGSTOP)
    redis_server.kill()
    shutil.copy(tmp_path / "older.rdb", tmp_path / "dump.rdb")
    redis_server.start()
    fresh = start_publisher(publisher_id="p9", restore_ms=1000, lease_ms=1000)
    wait_until(lambda: state(client, "owner") == "p9", what="its tick")
    for gateway in gateways:
        gateway.signal(signal.SIGCONT)
    wait_open(client, epoch)
    wait_until(lambda: all(stream.named("entry") for stream in streams), 20, "everybody's entry")
    places = [fields["place"] for _, fields in client.xrange("session:{s}:admissions")]
    assert len(places) == len(set(places)) == 4  # of the snapshot, and of the last two
    assert all(len(stream.named("entry")) == 1 for stream in streams)
    assert len(fresh.logged("owner")) == 1


def test_newcomers_wait_a_moment_after_redis_was_away(redis_server, quick, client, visit):
    """Those who know more need it to say so, or a newcomer would get a number that somebody has."""
    publishers, gateways = quick
    Admin(publishers[0].url("admin")).create("s", status="paused")
    visit(gateways[0]).wait_position(1)
    url = gateways[0].url("public") + "/api/queue/join?sessionId=s"
    assert requests.post(url, timeout=5).status_code == 200
    client.save()
    redis_server.kill()
    redis_server.start()
    wait_until(lambda: len(gateways[0].logged("redis-up", connection="commands")) == 2, what="the connection")
    since = time.monotonic()
    assert requests.post(url, timeout=5).status_code == 503
    wait_until(lambda: requests.post(url, timeout=5).status_code == 200, what="a newcomer's place")
    assert time.monotonic() - since > 1.5


def test_a_connection_that_redis_forgot_keeps_its_place(quick, client, visit):
    """A reconnect was lost with the last moment: neither epoch nor rev nor ticket tells of it."""
    publishers, gateways = quick
    Admin(publishers[0].url("admin")).create("s", status="paused")
    stream = visit(gateways[0])
    stream.wait_position(1)
    place = stream.ticket["place"]
    before = client.hget("session:{s}:places", place)
    stream.close()
    again = visit(gateways[1], ticket=stream.last_id)
    again.wait_position(1)
    after = client.hget("session:{s}:places", place)
    client.hset("session:{s}:places", place, before)
    wait_until(lambda: client.hget("session:{s}:places", place) == after, 20, "the audit")
    assert not again.ended and not again.named("superseded")


def test_a_lost_ticket_is_noticed_though_its_holder_is_away(quick, client, visit):
    """Only the tail of the line is older than the only witness knows: whoever had that number has it when they come back."""
    publishers, gateways = quick
    Admin(publishers[0].url("admin")).create("s", status="paused")
    visit(gateways[0]).wait_position(1)
    wait_until(lambda: state(client, "announced") == state(client, "rev") and state(client, "dirty") == "0", what="everybody told")
    epoch = int(state(client, "epoch"))
    stream = visit(gateways[1])
    stream.wait_position(2)
    place = stream.ticket["place"]
    stream.close()
    wait_until(lambda: client.zscore("session:{s}:parked", place) is not None, what="the park")
    client.pipeline().zrem("session:{s}:waiting", place).zrem("session:{s}:parked", place).hdel("session:{s}:places", place) \
        .hset("session:{s}:state", "tail", 1).execute()
    wait_open(client, epoch)
    newcomer = visit(gateways[0])
    newcomer.wait_event("waiting-state")
    assert newcomer.ticket["ticket"] > 2
    back = visit(gateways[1], ticket=stream.last_id)
    back.wait_event("waiting-state")
    assert back.ticket["ticket"] == 2


def test_who_polls_comes_back_by_the_ticket(quick, client, visit):
    publishers, gateways = quick
    Admin(publishers[0].url("admin")).create("s", status="paused")
    urls = [gateway.url("public") + "/api/queue" for gateway in gateways]
    tickets = [requests.post(urls[n % 2] + "/join?sessionId=s", timeout=5).json()["ticket"] for n in range(6)]
    visit(gateways[0]).wait_position(7)  # so that a gateway serves the session
    visit(gateways[1]).wait_position(8)
    epoch = int(state(client, "epoch"))
    client.flushall()
    wait_open(client, epoch)
    for n in reversed(range(6)):
        assert requests.get(urls[n % 2] + f"/status?ticket={tickets[n]}", timeout=5).json()["status"] == "WAITING"
    shown = [requests.get(urls[0] + f"/status?ticket={ticket}", timeout=5).json()["position"] for ticket in tickets]
    assert shown == [1, 2, 3, 4, 5, 6]


def test_the_lobby_comes_back_too(quick, client, visit):
    publishers, gateways = quick
    seconds = int(client.time()[0])
    Admin(publishers[0].url("admin")).create("s", lobby="lottery", batch=100, intervalMs=100, startsAt=(seconds + 6) * 1000)
    streams = [visit(gateways[n % 2]) for n in range(10)]
    for stream in streams:
        stream.wait_event("lobby")
    promised = streams[0].named("lobby")[0]["data"]["seedHash"]
    before = client.zrange("session:{s}:lobby", 0, -1)
    client.flushall()
    wait_until(lambda: client.zrange("session:{s}:lobby", 0, -1) == before, what="the lobby, in the same order")
    for stream in streams:
        entry_of(stream, "s", 20)
    info = requests.get(gateways[0].url("public") + "/api/queue/info?sessionId=s", timeout=5).json()
    assert info["seedHash"] == promised and "seed" in info
    assert [fields["place"] for _, fields in client.xrange("session:{s}:admissions")] == before


def test_a_ticket_of_a_session_that_was_deleted_gets_no_number_back(quick, client, visit):
    publishers, gateways = quick
    api = Admin(publishers[0].url("admin"))
    api.create("s", status="paused")
    old = visit_all(visit, gateways, 3)[2].last_id
    assert api("DELETE", "/admin/sessions/s?force=true").status_code == 204
    api.create("s", status="paused")
    new = visit(gateways[1], ticket=old)
    new.wait_position(1)
    assert new.ticket["ticket"] == 1


def test_twenty_thousand_are_back_in_five_seconds_of_the_window(admin, client, scripts, gateways):
    """The scripts alone, as a gateway with so many calls them."""
    admin.create("s", status="paused")
    gateway = gateways()
    epoch, root = int(state(client, "epoch")), int(state(client, "epoch"))
    config = [word for pair in client.hgetall("session:{s}:config").items() for word in pair]
    client.flushall()
    answer = scripts.run("reopen", "s", epoch, 1, 20000, 0, 0, 5000, 1, len(config), *config, 2, "root", root)
    assert answer[0] == "ok" and answer[3] == 1
    seconds, micros = client.time()
    for start in range(1, 20001, 500):
        words = [word for n in range(start, start + 500) for word in (f"{n:022d}", n, 0, 1, f"b:{n}", "", epoch)]
        assert set(scripts.run("restore", "s", "open", gateway.name, int(start > 19500), *words)[2:]) == {"waiting"}
    now = client.time()
    assert (now[0] - seconds) + (now[1] - micros) / 1e6 < 5
    assert [int(score) for _, score in waiting(client)] == list(range(1, 20001))
    assert client.bitcount("session:{s}:departed") == 10000, "the numbers left free"
