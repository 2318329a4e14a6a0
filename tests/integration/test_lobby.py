"""Before the start: the lobby, the draw in order of arrival and by lot, and everything that can come in between."""

import hashlib
import secrets
import signal
import time
from unittest import mock

import pytest
import requests

from support import ROOT, Admin, metric, wait_until
from visitors import entry_of


def info(gateway, session="s"):
    answer = requests.get(gateway.url("public") + f"/api/queue/info?sessionId={session}", timeout=5)
    assert answer.status_code == 200, answer.text
    return answer.json()


def redis_ms(client):
    seconds, micros = client.time()
    return seconds * 1000 + micros // 1000


def by_seed(seed, places):
    """The order of a lottery, as docs/lottery.md has it."""
    return sorted(places, key=lambda place: (hashlib.sha1((seed + place).encode()).hexdigest()[:13], place))


def admissions(client, session="s"):
    return [fields for _, fields in client.xrange(f"session:{{{session}}}:admissions")]


def fill_lobby(client, scripts, count, server="", session="s"):
    """COUNT places in the lobby, through the join script, many a write; gives them in the order in which they came."""
    scripts.join_lobby(session, server)
    body, parts = scripts.rendered["join"]
    sha = client.script_load(body)
    keys = [scripts.key(session, part) for part in parts]
    places = [secrets.token_urlsafe(17)[:22] for _ in range(count - 1)]
    for start in range(0, len(places), 5000):
        pipe = client.pipeline(transaction=False)
        for place in places[start:start + 5000]:
            pipe.evalsha(sha, len(keys), *keys, place, "", server, f"boot:{place[:6]}", "stream", 0, 0, "doorbell", session)
        assert all(answer[0] == "lobby" for answer in pipe.execute())
    return places


def test_the_lobby_waits_and_is_drawn_in_order_of_arrival(admin, client, start_gateway, visit):
    gateways = [start_gateway("gw-1"), start_gateway("gw-2")]
    admin.create("s", batch=1000, startsAt=redis_ms(client) + 2500)
    streams = []
    for n in range(20):
        streams.append(visit(gateways[n % 2]))
        told = streams[-1].wait_event("lobby")["data"]
        assert told["order"] == "arrival" and told["startsAt"].endswith("Z") and told["waiting"] >= n + 1
        assert "seedHash" not in told
        assert streams[-1].ticket["ticket"] == 0 and streams[-1].ticket["lobby"] == n + 1
    assert info(gateways[0])["status"] == "scheduled" and info(gateways[0])["lobby"] == 20
    assert admin.live("s")["phase"] == "lobby"
    wait_until(lambda: admin.live("s")["held"] == "not-started", what="the reason")
    for n, stream in enumerate(streams):
        entry = entry_of(stream, "s")
        assert entry["ticket"] == n + 1
    assert [int(entry["ticket"]) for entry in admissions(client)] == list(range(1, 21))
    assert not client.exists("session:{s}:lobby")


def test_each_hears_its_ticket_and_its_position_by_the_draw(admin, client, gateway, visit):
    admin.create("s", status="paused", startsAt=redis_ms(client) + 2000)
    streams = [visit(gateway) for _ in range(12)]
    before = {}
    for stream in streams:
        stream.wait_event("lobby")
        before[stream] = stream.last_id
    for stream in streams:
        first = stream.wait_event("waiting-state")
        assert first["id"] != before[stream], "the draw brings a new resume ticket"
        claims = stream.ticket
        assert claims["ticket"] == stream.position and "lobby" not in claims
        old = visit(gateway, ticket=before[stream])  # the lobby's ticket still gives the place back
        old.wait_position(claims["ticket"])
        stream.wait_event("superseded")
    assert sorted(stream.ticket["ticket"] for stream in streams) == list(range(1, 13))


def test_a_lottery_is_what_its_seed_says(admin, client, start_gateway, visit):
    gateways = [start_gateway("gw-1"), start_gateway("gw-2")]
    admin.create("s", batch=1000, lobby="lottery", startsAt=redis_ms(client) + 2500)
    streams = [visit(gateways[n % 2]) for n in range(30)]
    for stream in streams:
        told = stream.wait_event("lobby")["data"]
        assert told["order"] == "lottery" and len(told["seedHash"]) == 64
        assert stream.ticket["lobby"] == 0, "who knew the lot could try again"
    public = info(gateways[0])
    assert public["seedHash"] == told["seedHash"] and "seed" not in public
    for stream in streams:
        entry_of(stream, "s")
    public = wait_until(lambda: "seed" in (found := info(gateways[1])) and found, what="the seed")
    assert hashlib.sha256(public["seed"].encode()).hexdigest() == public["seedHash"] == told["seedHash"]
    first, last = public["drawnTickets"]
    drawn = [entry["place"] for entry in admissions(client) if first <= int(entry["ticket"]) <= last]
    assert len(drawn) == 30 and drawn == by_seed(public["seed"], drawn)


def test_the_page_of_the_lottery_has_a_program_that_works(admin, client, gateway, visit):
    """What docs/lottery.md prints is run as it stands, and finds an order that was tampered with."""
    text = (ROOT / "docs" / "lottery.md").read_text()
    program = {}
    exec(text.split("```python\n")[1].split("```")[0], program)  # our own page
    admin.create("s", batch=1000, lobby="lottery", startsAt=redis_ms(client) + 1500)
    streams = [visit(gateway) for _ in range(10)]
    for stream in streams:
        entry_of(stream, "s")
    wait_until(lambda: "seed" in info(gateway), what="the seed")
    with mock.patch("redis.Redis", lambda **_: client):
        assert len(program["check"](gateway.url("public"), "s")) == 10
        stream = "session:{s}:admissions"
        entries = client.xrange(stream)
        client.delete(stream)
        for (_, fields), (_, other) in zip(entries, entries[1:] + entries[:1]):
            client.xadd(stream, {**fields, "place": other["place"]})
        with pytest.raises(AssertionError):
            program["check"](gateway.url("public"), "s")


def test_a_hundred_thousand_are_drawn_in_time_and_redis_is_never_held_up(admin, client, scripts, gateways, publisher):
    """Each chunk is under 20 ms in Redis (its slow log is empty), the whole draw under 5 s, and each server is told of each place."""
    names = [gateways("gw-1"), gateways("gw-2")]
    admin.create("s", status="paused", lobby="lottery", startsAt=redis_ms(client) + 3600000)
    for gateway in names:
        fill_lobby(client, scripts, 50000, gateway.name)
    client.config_set("slowlog-log-slower-than", 20000)
    client.slowlog_reset()
    begun = time.monotonic()
    assert admin("PATCH", "/admin/sessions/s", {"startsAt": redis_ms(client) - 1}).status_code == 200
    late = scripts.run("join", "s", secrets.token_urlsafe(17)[:22], "", names[0].name, "boot:late", "stream", 0, 0, "doorbell", "s")
    wait_until(lambda: client.hget("session:{s}:state", "phase") == "open", 30, "the end of the draw")
    passed = time.monotonic() - begun
    print(f"100,000 drawn in {passed:.2f} s")
    assert passed < 5
    assert client.slowlog_get(10) == []
    told = {}
    for gateway in names:
        for message in gateway.messages("drawn"):
            told.update(dict(pair.split(":") for pair in message["places"].split(",")))
    waiting = {place: int(ticket) for place, ticket in client.zrange("session:{s}:waiting", 0, -1, withscores=True)}
    assert len(waiting) == 100001 and {place: int(ticket) for place, ticket in told.items()} == waiting
    assert sorted(waiting.values()) == list(range(1, 100002))
    assert waiting[late[1]] == 100001, "who comes during the draw stands behind"
    seed = client.hget("session:{s}:state", "seed")
    order = sorted((place for place in waiting if place != late[1]), key=waiting.get)
    assert order == by_seed(seed, order)


def test_a_publisher_killed_in_the_middle_of_a_draw(start_publisher, client, scripts, gateways):
    """The other one goes on behind the last chunk: every place once, in the order of arrival."""
    daemons = [start_publisher(publisher_id=f"p{n}", lease_ms=1000) for n in range(2)]
    gateway = gateways()
    api = Admin(daemons[0].url("admin"))
    api.create("s", status="paused", startsAt=redis_ms(client) + 3600000)
    places = fill_lobby(client, scripts, 60000, gateway.name)
    owner = wait_until(lambda: client.hget("session:{s}:state", "owner"), what="an owner")
    victim, other = daemons if owner == "p0" else reversed(daemons)
    api = Admin(other.url("admin"))
    assert api("PATCH", "/admin/sessions/s", {"startsAt": None}).status_code == 200
    wait_until(lambda: client.zcard("session:{s}:waiting") > 2000, what="a draw under way")
    victim.kill()
    left = client.zcard("session:{s}:lobby")
    assert left > 0, "the draw was over before it could be broken off"
    wait_until(lambda: client.hget("session:{s}:state", "phase") == "open", 30, "the end of the draw")
    waiting = client.zrange("session:{s}:waiting", 0, -1)
    assert waiting[1:] == places and client.zcard("session:{s}:lobby") == 0
    assert client.hget("session:{s}:state", "tail") == "60000"


def test_who_misses_the_draw_hears_of_it_all_the_same(admin, client, gateway, visit):
    """The messages of the draw are lost: the sweep finds whoever is left in the lobby here."""
    admin.create("s", status="paused", startsAt=redis_ms(client) + 1500)
    streams = [visit(gateway) for _ in range(5)]
    for stream in streams:
        stream.wait_event("lobby")
    gateway.signal(signal.SIGSTOP)
    wait_until(lambda: client.hget("session:{s}:state", "phase") == "open", what="the draw")
    client.xtrim("server:gw-1:stream", maxlen=0)
    gateway.signal(signal.SIGCONT)
    for stream in streams:
        stream.wait_event("waiting-state")
        assert stream.ticket["ticket"] == stream.position
    assert sorted(stream.position for stream in streams) == [1, 2, 3, 4, 5]


def test_a_start_put_off_is_told_at_once(admin, client, gateway, visit):
    later = redis_ms(client) + 7200000
    admin.create("s", startsAt=redis_ms(client) + 3600000)
    stream = visit(gateway)
    before = stream.wait_event("lobby")["data"]["startsAt"]
    assert admin("PATCH", "/admin/sessions/s", {"startsAt": later}).status_code == 200
    stream.wait(lambda: stream.named("lobby")[-1]["data"]["startsAt"] != before, what="the new start")
    assert admin("PATCH", "/admin/sessions/s", {"lobby": "lottery"}).status_code == 409


def test_the_lobby_of_a_closed_session_is_told(admin, client, gateway, visit):
    for session, change, reason in (("a", {"status": "closed"}, "closed"), ("b", {"stock": 0}, "sold-out")):
        admin.create(session, startsAt=redis_ms(client) + 3600000)
        stream = visit(gateway, session)
        stream.wait_event("lobby")
        assert admin("PATCH", f"/admin/sessions/{session}", change).status_code == 200
        assert stream.wait_event("closed")["data"] == {"sessionId": session, "reason": reason}
        stream.wait_end()
        assert info(gateway, session)["status"] == reason


def test_a_place_in_the_lobby_is_shown_and_evicted(admin, client, gateway, visit):
    admin.create("s", lobby="lottery", startsAt=redis_ms(client) + 3600000)
    stream = visit(gateway)
    stream.wait_event("lobby")
    path = f"/admin/sessions/s/places/{stream.ticket['place']}"
    shown = admin("GET", path).json()
    assert shown["status"] == "LOBBY" and shown["server"].startswith("gw-1.") and "ticket" not in shown
    assert admin("DELETE", path).status_code == 204
    assert stream.wait_event("closed")["data"]["reason"] == "evicted"
    assert admin("GET", path).status_code == 404 and not client.exists("session:{s}:lobby")


def test_polling_in_the_lobby(admin, client, gateway):
    admin.create("s", status="paused", startsAt=redis_ms(client) + 2000)
    url = gateway.url("public") + "/api/queue"
    joined = requests.post(url + "/join?sessionId=s", timeout=5).json()
    assert joined["status"] == "LOBBY" and joined["waiting"] == 1 and joined["order"] == "arrival" and "position" not in joined
    answer = requests.get(url + f"/status?ticket={joined['ticket']}", timeout=5)
    assert answer.json()["status"] == "LOBBY" and answer.headers["Retry-After"] == str(answer.json()["pollAfterSeconds"])
    left = requests.post(url + "/join?sessionId=s", timeout=5).json()["ticket"]
    assert requests.post(url + f"/leave?ticket={left}", timeout=5).status_code == 204
    wait_until(lambda: requests.get(url + f"/status?ticket={left}", timeout=5).json()["status"] == "NOT_WAITING", what="the leave")
    drawn = wait_until(lambda: (found := requests.get(url + f"/status?ticket={joined['ticket']}", timeout=5).json())["status"] ==
                       "WAITING" and found, what="the draw")
    assert drawn["position"] == 1


def test_a_reconnect_in_the_lobby_keeps_the_order(admin, client, start_gateway, visit):
    gateways = [start_gateway("gw-1"), start_gateway("gw-2")]
    admin.create("s", batch=1, intervalMs=86400000, startsAt=redis_ms(client) + 3000)
    first, second = visit(gateways[0]), None
    first.wait_event("lobby")
    second = visit(gateways[0])
    second.wait_event("lobby")
    first.close()
    wait_until(lambda: client.zcard("session:{s}:parked") == 1, what="the park")
    again = visit(gateways[1], ticket=first.last_id)
    assert again.wait_event("lobby") and again.ticket["lobby"] == 1
    assert entry_of(again, "s")["ticket"] == 1
    second.wait_position(1)


def test_without_a_lobby_coming_early_is_refused_with_the_time(admin, client, gateway, visit):
    admin.create("s", lobby="none", startsAt=redis_ms(client) + 1500)
    answer = requests.post(gateway.url("public") + "/api/queue/join?sessionId=s", timeout=5)
    assert answer.status_code == 409 and answer.json()["code"] == "not-started"
    assert answer.json()["startsAt"] == info(gateway)["startsAt"] and int(answer.headers["Retry-After"]) >= 1
    stream = visit(gateway)
    assert stream.wait_event("unavailable")["data"]["code"] == "not-started"
    wait_until(lambda: info(gateway)["status"] == "open", what="the start")
    entry_of(visit(gateway), "s")


def test_info_says_what_anybody_may_know(admin, client, gateway):
    url = gateway.url("public") + "/api/queue/info"
    for path, status, code in (("", 400, "bad-session"), ("?sessionId=no/pe", 400, "bad-session"),
                               ("?sessionId=nobody", 404, "unknown-session")):
        answer = requests.get(url + path, timeout=5)
        assert (answer.status_code, answer.json()["code"]) == (status, code)
    admin.create("s")
    answer = requests.get(url + "?sessionId=s", timeout=5, headers={"Origin": "https://anywhere.example",
                                                                 "Sec-Fetch-Site": "cross-site"})
    assert answer.status_code == 200 and answer.headers["Access-Control-Allow-Origin"] == "*"
    assert answer.headers["Cache-Control"] == "public, max-age=1"
    body = answer.json()
    assert set(body) == {"now", "sessionId", "status", "startsAt", "endsAt", "waiting", "lobby", "order"}
    assert body["status"] == "open" and body["startsAt"] is None
    for change, status in (({"status": "paused"}, "paused"), ({"status": "open", "stock": 0}, "sold-out"),
                           ({"stock": -1, "endsAt": redis_ms(client) - 1}, "closed"), ({"endsAt": None}, "open"),
                           ({"startsAt": redis_ms(client) + 3600000}, "scheduled"), ({"status": "closed"}, "closed")):
        assert admin("PATCH", "/admin/sessions/s", change).status_code == 200
        wait_until(lambda: info(gateway)["status"] == status, what=status)
    assert admin("DELETE", "/admin/sessions/s").status_code == 204
    wait_until(lambda: requests.get(url + "?sessionId=s", timeout=5).status_code == 404, what="the deletion")


@pytest.mark.parametrize("asked", [200])
def test_info_asks_redis_once_a_second_at_most(admin, client, gateway, asked):
    admin.create("s")
    info(gateway)
    before = metric(gateway, "anteroom_redis_commands_total", command="info")
    begun = time.monotonic()
    for _ in range(asked):
        info(gateway)
    passed = time.monotonic() - begun
    assert metric(gateway, "anteroom_redis_commands_total", command="info") - before <= passed + 1
