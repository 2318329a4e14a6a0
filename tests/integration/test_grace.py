"""Grace and resume: places without a connection, tickets from elsewhere, the deadline's edge; and the line without a stream."""

import itertools
import random
import threading

import jwt
import pytest
import requests

import support

OTHER_KEY = "another-ticket-key-0123456789-0123456789"


def post(gateway, path, headers=None, **params):
    return requests.post(f"{gateway.url('public')}/api/queue/{path}", params=params, headers=headers, timeout=10)


def status(gateway, ticket):
    return requests.get(f"{gateway.url('public')}/api/queue/status", params={"ticket": ticket}, timeout=10)


def claims(ticket):
    return jwt.decode(ticket.removesuffix(".e"), options={"verify_signature": False})


def waiting(visit, gateway, session="s", **options):
    stream = visit(gateway, session, **options)
    stream.wait_event("waiting-state")
    return stream


def now_ms(client):
    seconds, micros = client.time()
    return seconds * 1000 + micros // 1000


@pytest.fixture
def two(start_gateway, start_publisher, publisher):
    """Two gateways; and two publishers tick."""
    start_publisher()
    return start_gateway("gw-1"), start_gateway("gw-2")


# ---- grace ----

def test_without_grace_a_lost_connection_is_a_leave(admin, two, visit, client):
    admin.create("s", status="paused", graceMs=0)
    first, second = waiting(visit, two[0]), waiting(visit, two[1])
    assert second.position == 2
    ticket = first.last_id
    first.close()
    second.wait_position(1)
    assert client.zcard("session:{s}:parked") == 0 and client.zcard("session:{s}:waiting") == 1
    back = waiting(visit, two[1], ticket=ticket)
    assert back.position == 2 and back.ticket["ticket"] == 3


def test_without_grace_a_polling_place_has_half_a_minute(admin, two, client):
    admin.create("s", status="paused", graceMs=0)
    ticket = post(two[0], "join", sessionId="s").json()["ticket"]
    assert status(two[1], ticket).json()["position"] == 1
    clock, deadline = int(client.hget("session:{s}:state", "clock")), client.zscore("session:{s}:parked", claims(ticket)["place"])
    assert 25000 < deadline - clock <= 30500


def test_a_poll_puts_the_deadline_off_and_silence_does_not(admin, two, client):
    admin.create("s", status="paused", graceMs=60000)
    polling, silent = (post(two[0], "join", sessionId="s").json()["ticket"] for _ in range(2))
    parked, waits = "session:{s}:parked", "session:{s}:waiting"
    for ticket in (polling, silent):  # as if nearly the whole grace had passed
        client.zadd(parked, {claims(ticket)["place"]: int(client.hget("session:{s}:state", "clock")) + 1500})
    assert status(two[1], polling).json()["position"] == 1
    support.wait_until(lambda: not client.zscore(waits, claims(silent)["place"]), what="the silent one's end")
    assert status(two[0], silent).json() == {"sessionId": "s", "status": "NOT_WAITING", "position": -1}
    assert status(two[0], polling).json()["position"] == 1
    assert client.zscore(parked, claims(polling)["place"]) > int(client.hget("session:{s}:state", "clock")) + 50000


def test_a_poll_of_a_place_that_has_a_stream_gives_it_no_deadline(admin, two, visit, client):
    admin.create("s", status="paused")
    stream = waiting(visit, two[0])
    assert status(two[1], stream.last_id).json()["position"] == 1
    assert client.zcard("session:{s}:parked") == 0 and not stream.ended


def test_the_deadlines_edge_while_resuming(admin, two, visit, client):
    """Each comes back at about its deadline, through any gateway: with its old number or with a new one at the back, never
    with both, and nobody else's position is disturbed."""
    admin.create("s", status="paused", graceMs=400)
    chance, anchor, parked = random.Random(7), waiting(visit, two[0]), "session:{s}:parked"
    kept = gone = 0
    for _ in range(6):
        streams = [waiting(visit, two[number % 2]) for number in range(12)]
        tickets = {stream.last_id: stream.ticket["ticket"] for stream in streams}
        for stream in streams:
            stream.close()
        deadlines = support.wait_until(lambda: (found := dict(client.zrange(parked, 0, -1, withscores=True))) and len(found) == 12 and found,
                                       what="parked places")
        back, lock = {}, threading.Lock()

        def come(ticket, late):
            edge = deadlines[claims(ticket)["place"]] + late
            support.wait_until(lambda: now_ms(client) >= edge, what="the deadline's edge")
            stream = visit(two[chance.randrange(2)], ticket=ticket)
            with lock:
                back[ticket] = stream
        threads = [threading.Thread(target=come, args=(ticket, 20 * number - 100)) for number, ticket in enumerate(tickets)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(10)
        for ticket, stream in back.items():
            stream.wait_event("waiting-state")
            same = stream.ticket["place"] == claims(ticket)["place"]
            assert same == (stream.ticket["ticket"] == tickets[ticket]) and (same or stream.ticket["ticket"] > max(tickets.values()))
            kept, gone = kept + same, gone + (not same)
        line = client.zrange("session:{s}:waiting", 0, -1)
        assert sorted(line) == sorted([anchor.ticket["place"], *(stream.ticket["place"] for stream in back.values())])
        for stream in back.values():
            stream.wait_position(line.index(stream.ticket["place"]) + 1)
            assert not stream.ended
        for stream in back.values():
            post(two[0], "leave", ticket=stream.last_id)
            stream.wait_event("closed")
        support.wait_until(lambda: client.zcard("session:{s}:waiting") == 1, what="an empty line")
    assert kept and gone and anchor.position == 1  # the edge was met from both sides


def test_who_leaves_at_one_gateway_is_told_so_at_the_other(admin, two, visit):
    admin.create("s", status="paused")
    stream, behind = waiting(visit, two[0]), waiting(visit, two[1])
    assert post(two[1], "leave", ticket=stream.last_id).status_code == 204
    assert stream.wait_event("closed", timeout=1.5)["data"]["reason"] == "left"  # the sweep needs 2 s
    behind.wait_position(1)


# ---- tickets from elsewhere ----

def lines(client):
    """Everything of every line, whatever its prefix; a gateway's stream is emptied as it reads."""
    return {key: value for key, value in support.dump(client).items() if ":server:" not in key}


def test_a_ticket_of_another_deployment(admin, gateway, start_gateway, start_publisher, folder, visit, client):
    admin.create("s", status="paused")
    stranger = waiting(visit, gateway).last_id
    other = start_publisher(key_prefix="b:")
    api = support.Admin(other.url("admin"))
    api.create("s", status="paused")
    api.close()
    same_key, other_key = start_gateway("gw-2", key_prefix="b:"), start_gateway("gw-3", ticket_key_file=folder.write("k", OTHER_KEY))
    resident = waiting(visit, same_key)
    before = lines(client)
    # Another key: refused. The same key, other keys in Redis: it is a ticket, but of no place.
    assert visit(other_key, ticket=stranger).wait_event("refused")["data"]["code"] == "bad-ticket"
    assert status(other_key, stranger).status_code == 400 and post(other_key, "leave", ticket=stranger).status_code == 400
    assert status(same_key, stranger).json()["status"] == "NOT_WAITING"
    assert post(same_key, "leave", ticket=stranger).status_code == 204
    assert lines(client) == before
    joined = waiting(visit, same_key, ticket=stranger)
    assert joined.position == 2 and joined.ticket["place"] != claims(stranger)["place"] and resident.position == 1


def test_a_ticket_of_a_session_that_was_deleted_and_made_again(admin, two, visit, client):
    admin.create("s", status="paused")
    old = waiting(visit, two[0])
    ticket = old.last_id
    assert admin("DELETE", "/admin/sessions/s?force=true").status_code == 204
    old.wait_event("closed")
    admin.create("s", status="paused")
    newcomer = waiting(visit, two[0])
    assert newcomer.ticket["ticket"] == 1 and newcomer.ticket["epoch"] > claims(ticket)["epoch"]
    for gateway in two:  # one that served the old session, one that never did
        assert status(gateway, ticket).json()["status"] == "NOT_WAITING"
        assert post(gateway, "leave", ticket=ticket).status_code == 204
    back = waiting(visit, two[1], ticket=ticket)
    assert back.position == 2 and newcomer.position == 1 and not newcomer.ended


def test_a_ticket_whose_entry_has_expired_before_a_tick_tidied_up(admin, publisher, gateway, visit, client):
    admin.create("s", batch=1, intervalMs=100)
    stream = visit(gateway)
    stream.wait_event("entry")
    ticket = stream.last_id.removesuffix(".e")
    support.wait_until(lambda: not client.zcard("session:{s}:outbox"), what="an empty outbox")
    assert status(gateway, ticket).json()["status"] == "ENTERED"
    publisher.signal(19)
    try:
        client.zadd("session:{s}:active", {claims(ticket)["place"]: client.time()[0]})
        assert status(gateway, ticket).json()["status"] == "NOT_WAITING"
        assert waiting(visit, gateway, ticket=ticket).ticket["ticket"] == 2
    finally:
        publisher.signal(18)


# ---- progress ----

def test_the_progress_goes_on_after_a_reconnect(admin, two, visit, scripts):
    admin.create("s", status="paused")
    places = [scripts.join("s", mode="poll") for _ in range(9)]
    stream, polled = waiting(visit, two[0]), post(two[0], "join", sessionId="s").json()["ticket"]
    assert stream.events[-1]["data"]["progress"] == 0 and claims(polled)["first"] == 11
    for place in places[:5]:
        scripts.run("leave", "s", place, 0)
    stream.wait_position(5)
    assert stream.events[-1]["data"]["progress"] == 0.5
    ticket = stream.last_id
    stream.close()
    for _ in range(2):  # and after another one
        stream = waiting(visit, two[1], ticket=ticket)
        assert stream.events[-1]["data"]["progress"] == 0.5 and stream.ticket["first"] == 10
        ticket = stream.last_id
    moved = waiting(visit, two[1], ticket=polled)
    assert moved.events[-1]["data"]["progress"] == 0.45
    post(two[0], "leave", ticket=ticket)
    moved.wait_position(5)
    again = waiting(visit, two[0], ticket=ticket)  # a new place begins anew
    assert again.position == 6 and again.events[-1]["data"]["progress"] == 0


# ---- polling ----

def ticket_for(place, number):
    body = {"aud": "anteroom-gateway", "session": "s", "place": place, "epoch": 1, "ticket": number, "gen": 1}
    return jwt.encode(body, support.TICKET_KEY, algorithm="HS256", headers={"typ": "anteroom-ticket+jwt"})


def test_the_further_back_the_rarer_the_polls(admin, gateway, scripts):
    admin.create("s", status="paused")
    places = [scripts.join("s", mode="poll") for _ in range(1100)]
    steps = {1: 1, 99: 1, 100: 2, 199: 2, 200: 3, 500: 6, 899: 9, 900: 10, 901: 10, 1100: 10}
    for position, seconds in steps.items():
        answer = status(gateway, ticket_for(places[position - 1], position))
        assert answer.json()["position"] == position
        assert (answer.headers["Retry-After"], answer.json()["pollAfterSeconds"]) == (str(seconds), seconds)


def test_the_whole_way_without_a_stream(admin, two, client):
    admin.create("s", batch=1, intervalMs=200, status="paused")
    gateways = itertools.cycle(two)
    tickets = [post(next(gateways), "join", sessionId="s").json()["ticket"] for _ in range(4)]
    assert [status(next(gateways), ticket).json()["position"] for ticket in tickets] == [1, 2, 3, 4]
    assert post(next(gateways), "leave", ticket=tickets[1]).status_code == 204
    support.wait_until(lambda: status(next(gateways), tickets[3]).json()["position"] == 3, what="the others to move up")
    assert status(next(gateways), tickets[1]).json()["status"] == "NOT_WAITING"
    admin("POST", "/admin/sessions/s/resume")
    tokens = {}

    def all_entered():
        for ticket in (tickets[0], *tickets[2:]):
            body = status(next(gateways), ticket).json()
            if body["status"] == "ENTERED":
                tokens.setdefault(ticket, set()).add(body["token"])
        return len(tokens) == 3
    support.wait_until(all_entered, what="three entries")
    assert all(len(seen) == 1 for seen in tokens.values())
    assert [entry["ticket"] for _, entry in client.xrange("session:{s}:admissions")] == ["1", "3", "4"]
