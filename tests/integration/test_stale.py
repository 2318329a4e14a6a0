"""What is old, repeated or out of step is not believed: messages of earlier times, gaps between them, a publisher that stood still."""

import time

import jwt
import pytest
import requests

import proxy
import support


def three(visit, gateway):
    streams = []
    for _ in range(3):
        streams.append(visit(gateway))
        streams[-1].wait_event("waiting-state")
    return streams


class Announcer:
    """Speaks for the publisher, which is dead: each announcement and the rev in Redis appear in one step."""

    def __init__(self, client, publisher, gateway):
        self.client, self.state = client, "session:{s}:state"
        self.settled(gateway)
        publisher.kill()
        self.settled(gateway)

    def settled(self, gateway):
        """Everything that was announced has been taken."""
        support.wait_until(lambda: self.client.xlen("server:gw-1:stream") == 0 and
                           self.client.hget(self.state, "dirty") == "0", what="all announcements to be taken")
        assert support.is_ready(gateway)

    def say(self, ahead, **change):
        epoch, rev, base, head, tail = self.client.hmget(self.state, "epoch", "rev", "base", "head", "tail")
        fields = {"type": "waiting-state", "session": "s", "epoch": epoch, "rev": int(rev) + ahead, "phase": "open", "status": "paused",
                  "base": base, "head": head, "tail": tail, "waiting": 3, "departed": "", "lobby": 0, "entered": 0, "rate": "0.000",
                  "leaving": "0.000000", "noise": "0.000", "drift": "0.000", "step": "0.000", **change}
        with self.client.pipeline(transaction=True) as step:
            if ahead > 0:
                step.hincrby(self.state, "rev", ahead)
            step.xadd("server:gw-1:stream", fields)
            step.execute()


@pytest.fixture
def announcer(admin, publisher, gateway, visit, client):
    """Three visitors of a paused session, and somebody who speaks for the publisher."""
    admin.create("s", status="paused")
    streams = three(visit, gateway)
    support.wait_until(lambda: client.hget("session:{s}:state", "announced") == client.hget("session:{s}:state", "rev"),
                       what="all to be announced")
    made = Announcer(client, publisher, gateway)
    made.streams = streams
    return made


def notice(client, stream, text):
    """A message behind all others: who has heard it has heard them."""
    epoch = client.hget("session:{s}:state", "epoch")
    client.xadd("server:gw-1:stream", {"type": "notice", "session": "s", "epoch": epoch, "message": text, "at": int(time.time() * 1000)})
    stream.wait(lambda: [event for event in stream.named("notice") if event["data"]["message"] == text], what="the notice")


def test_an_old_superseded_message_ends_nobody(admin, gateway, visit, client):
    admin.create("s", status="paused")
    first = visit(gateway)
    first.wait_event("waiting-state")
    second = visit(gateway, ticket=first.last_id)
    second.wait_event("waiting-state")
    assert second.ticket["gen"] == 2
    claims = second.ticket
    client.xadd("server:gw-1:stream", {"type": "superseded", "session": "s", "epoch": claims["epoch"], "place": claims["place"], "gen": 1})
    notice(client, second, "still here")
    assert not second.ended and not second.named("superseded")


def test_a_stale_announcement_moves_nobody(announcer, client):
    last = announcer.streams[2]
    announcer.say(-1, head=2, waiting=1)
    notice(client, last, "after it")
    assert last.positions[-1] == 3 and min(last.positions) == 3


def test_a_gap_in_the_announcements_is_looked_up(announcer, gateway, client):
    ticket = announcer.streams[0].last_id
    assert requests.post(gateway.url("public") + "/api/queue/leave", params={"ticket": ticket}, timeout=5).status_code == 204
    support.wait_until(lambda: client.zcard("session:{s}:waiting") == 2, what="the leave")
    announcer.say(2, waiting=2)  # the one between, which told the departure, was lost
    announcer.streams[2].wait_position(2)


def test_a_lost_last_announcement_is_asked_for(announcer, gateway, client):
    ticket = announcer.streams[0].last_id
    assert requests.post(gateway.url("public") + "/api/queue/leave", params={"ticket": ticket}, timeout=5).status_code == 204
    support.wait_until(lambda: client.zcard("session:{s}:waiting") == 2, what="the leave")
    client.hincrby(announcer.state, "rev", 1)  # announced, and heard by nobody
    announcer.streams[2].wait_position(2)


def test_a_position_never_rises(announcer, client):
    last = announcer.streams[2]
    announcer.say(1, departed="1", waiting=2)  # which is not so, as the picture shows
    last.wait_position(2)
    client.hset("session:{s}:config", "status", "open")
    announcer.say(1, departed="*")
    last.wait(lambda: last.named("waiting-state")[-1]["data"]["status"] == "WAITING", what="the picture")
    assert last.positions[-1] == 2


def test_an_answer_older_than_the_lease_is_not_acted_upon(daemons, folder, redis_server, gateways, scripts):
    between = proxy.Proxy(folder.path, redis_server.socket)
    told, publisher = gateways(), daemons(folder.publisher(between.url, lease_ms=500, tick_ms=100))
    support.wait_until(lambda: support.is_ready(publisher, "metrics"), what="a ready publisher")
    support.Admin(publisher.url("admin")).create("s", batch=1)
    publisher.wait_log("owner", session="s")
    between.hold_from("anteroom-publisher", "EVALSHA")
    place = scripts.join("s", told.name)
    support.wait_until(lambda begun=time.monotonic(): time.monotonic() - begun > 0.7, what="the lease to pass")
    between.release("anteroom-publisher")
    publisher.wait_log("tick-stale", session="s")
    told.wait_message("entry", place=place)  # from the outbox
    between.close()


def test_the_gateway_that_had_the_connection_is_told(admin, gateway, gateways, scripts, visit, client):
    other = gateways("gw-2")
    admin.create("s", status="paused")
    place = scripts.join("s", other.name)
    claims = {"aud": "anteroom-gateway", "session": "s", "place": place, "epoch": int(client.hget("session:{s}:state", "epoch")), "ticket": 1, "gen": 1}
    ticket = jwt.encode(claims, support.TICKET_KEY, algorithm="HS256", headers={"typ": "anteroom-ticket+jwt"})
    visit(gateway, ticket=ticket).wait_event("waiting-state")
    assert other.wait_message("superseded", place=place)["gen"] == "1"
