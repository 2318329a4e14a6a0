"""Who is who: the tables of docs/identity.md, each row with the second request at the other gateway and at the same one, and
many at once through two gateways while two publishers tick."""

import itertools
import re
import threading
import time

import jwt
import pytest
import requests

import support
import visitors

USER_KEY = "user-key-for-tests-0123456789-abcdefghijk"
PER_USER = ("many", "newest", "refuse")
WORDS = {"own": "a place of its own", "takes": "takes the place over", "back": "has the place again", "already-waiting": "`already-waiting`"}


class House:
    """Two publishers; two gateways for anybody and two for users."""

    def __init__(self, path):
        self.numbers = itertools.count()
        self.redis = support.RedisServer(path)
        folder = support.Folder(path)
        self.client = self.redis.client
        self.publishers = [folder.publisher(self.redis.url, tick_ms=100) for _ in range(2)]
        users = {"user_auth": "jwt", "user_key_file": folder.write("user.key", USER_KEY), "user_audience": "queue"}
        self.gateways = {kind: [support.Daemon("anteroom-gateway", {
            "redis_url": self.redis.url, "entry_key_file": folder.entry_key, "ticket_key_file": folder.ticket_key,
            "listen": "127.0.0.1:0", "metrics_listen": "127.0.0.1:0", "server_id": f"{kind}-{number}", "join_limit": "off",
            "drain_notice_s": 0, "drain_s": 0, **options}) for number in range(2)]
            for kind, options in (("anybody", {}), ("users", users))}
        support.wait_until(lambda: all(support.is_ready(daemon, "metrics") for daemon in self.daemons()), what="ready daemons")
        self.admin = support.Admin(self.publishers[0].url("admin"))

    def daemons(self):
        return [*self.publishers, *self.gateways["anybody"], *self.gateways["users"]]

    def create(self, **config):
        session = f"s{next(self.numbers)}"
        self.admin.create(session, **{"status": "paused", **config})
        return session

    def key(self, session, part):
        return f"session:{{{session}}}:{part}"

    def dump(self, session):
        return {key: value for key, value in support.dump(self.client).items() if f"{{{session}}}" in key}

    def close(self):
        self.admin.close()
        for daemon in self.daemons():
            daemon.stop()
        self.redis.close()


@pytest.fixture(scope="module")
def house(tmp_path_factory):
    made = House(tmp_path_factory.mktemp("house"))
    yield made
    made.close()


def as_user(user):
    if not user:
        return {}
    token = jwt.encode({"sub": user, "exp": int(time.time()) + 600, "aud": "queue"}, USER_KEY, algorithm="HS256")
    return {"Authorization": f"Bearer {token}"}


def post(gateway, path, headers=None, **params):
    return requests.post(f"{gateway.url('public')}/api/queue/{path}", params=params, headers=headers, timeout=10)


def status(gateway, ticket, headers=None):
    return requests.get(f"{gateway.url('public')}/api/queue/status", params={"ticket": ticket}, headers=headers, timeout=10).json()


def claims(ticket):
    return jwt.decode(ticket.removesuffix(".e"), options={"verify_signature": False})


class First:
    """Who was there before: by a stream, by one that broke, by polling; or by polling no more."""

    def __init__(self, house, visit, gateway, session, how, user):
        self.stream = None
        headers = as_user(user)
        if how in ("polls", "polled"):
            self.ticket = post(gateway, "join", headers, sessionId=session).json()["ticket"]
        else:
            self.stream = visit(gateway, session, headers=headers)
            self.stream.wait_event("waiting-state")
            self.ticket = self.stream.last_id
        self.place = claims(self.ticket)["place"]
        parked = house.key(session, "parked")
        if how == "lost":
            self.stream.close()
            support.wait_until(lambda: house.client.zscore(parked, self.place), what="a parked place")
        elif how == "polled":
            house.client.zadd(parked, {self.place: 1})  # the deadline has passed
            support.wait_until(lambda: not house.client.zscore(house.key(session, "waiting"), self.place), what="the place's end")


# What happens: whose gateways, how the first is there, the user, then what the second shows and by which user, and what
# becomes of it where perUser is many, newest, refuse.
ROWS = {
    "a second tab of the same browser": ("anybody", "stream", "", "cookie", "", ("own", "takes", "takes")),
    "the same, the first tab polls": ("anybody", "polls", "", "cookie", "", ("own", "takes", "takes")),
    "a tab that was duplicated": ("anybody", "stream", "", "ticket", "", ("takes", "takes", "takes")),
    "a reload of the waiting page, or the browser's own reconnect": ("anybody", "lost", "", "ticket", "", ("back", "back", "back")),
    "a reload of a page that keeps no ticket": ("anybody", "lost", "", "cookie", "", ("own", "back", "back")),
    "a second browser or device": ("anybody", "stream", "", "nothing", "", ("own", "own", "own")),
    "the user's second browser or device": ("users", "stream", "u", "nothing", "u", ("own", "takes", "already-waiting")),
    "the same, the first polls": ("users", "polls", "u", "nothing", "u", ("own", "takes", "already-waiting")),
    "the same, the first has lost its connection": ("users", "lost", "u", "nothing", "u", ("own", "back", "back")),
    "the same, the first has not polled for its grace": ("users", "polled", "u", "nothing", "u", ("own", "own", "own")),
    "the user's second tab in the same browser": ("users", "stream", "u", "cookie", "u", ("own", "takes", "takes")),
    "the user's duplicated tab": ("users", "stream", "u", "ticket", "u", ("takes", "takes", "takes")),
    "another user in the same browser": ("users", "stream", "u", "cookie", "v", ("own", "own", "own")),
    "another user with a stolen ticket": ("users", "stream", "u", "ticket", "v", ("bad-ticket", "bad-ticket", "bad-ticket")),
}


def shown(session, what, ticket):
    return {"cookie": {"Cookie": f"anteroom_ticket_{session}={ticket}"}, "ticket": {"Last-Event-ID": ticket}, "nothing": {}}[what]


@pytest.mark.parametrize("at", (0, 1), ids=("same gateway", "other gateway"))
@pytest.mark.parametrize("per_user", PER_USER)
@pytest.mark.parametrize("row", ROWS)
@pytest.mark.parametrize("mode", ("stream", "poll"))
def test_who_is_who(house, visit, row, per_user, at, mode):
    kind, how, user, what, second_user, results = ROWS[row]
    result, gateways = results[PER_USER.index(per_user)], house.gateways[kind]
    session = house.create(perUser=per_user)
    first = First(house, visit, gateways[0], session, how, user)
    headers = {**as_user(second_user), **shown(session, what, first.ticket)}
    waiting = house.client.zcard(house.key(session, "waiting"))
    if mode == "stream":
        stream = visit(gateways[at], session, headers=headers)
        event = stream.wait(lambda: stream.events)[0]
        outcome, ticket = event["data"].get("code", event["data"].get("status")), stream.last_id
    else:
        answer = post(gateways[at], "join", headers, sessionId=session).json()
        outcome, ticket = answer.get("code", answer.get("status")), answer.get("ticket")
    if result in ("already-waiting", "bad-ticket"):
        assert outcome == result
    else:
        assert outcome in ("WAITING", "PAUSED")
        mine = claims(ticket)
        assert (mine["place"] == first.place) == (result != "own") and mine["gen"] == (1 if result == "own" else 2)
    assert house.client.zcard(house.key(session, "waiting")) == waiting + (result == "own")
    if result == "takes" and first.stream:
        first.stream.wait_event("superseded")
        first.stream.wait_end()
        assert first.stream.last_id.endswith(".e") and len(first.stream.named("superseded")) == 1
        again = visit(gateways[at], session, headers={**as_user(user), "Last-Event-ID": first.stream.last_id})
        again.wait(lambda: again.status)
        assert again.status == 204
    elif result == "takes":
        assert status(gateways[0], first.ticket, as_user(user))["status"] == "WAITING"
        assert post(gateways[0], "leave", as_user(user), ticket=first.ticket).status_code == 204
        assert status(gateways[at], ticket, as_user(user))["status"] == "WAITING"
    elif first.stream and how == "stream":
        assert not first.stream.ended and not first.stream.named("superseded")


def table(name):
    """The rows of a table of docs/identity.md, by the text of its first column."""
    text = (support.ROOT / "docs" / "identity.md").read_text().split(f"## {name}\n")[1].split("\n## ")[0]
    rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in text.splitlines() if line.startswith("|")]
    return rows[0][1:], {row[0]: row[1:] for row in rows[2:]}


def test_the_page_says_what_the_rows_say():
    columns, rows = table("Who is who")
    assert columns == [f"`{value}`" for value in PER_USER]
    assert rows == {row: [WORDS.get(result, f"`{result}`") for result in facts[5]] for row, facts in ROWS.items()}


# ---- rejoin ----

# What somebody without a ticket gets who …, where rejoin is keep, back, refuse.
REJOIN = {
    "was let in a moment ago": ("the entry", "a new place at the back", "`already-entered`"),
    "has an entry token that is still valid": ("the entry", "a new place at the back", "`already-entered`"),
    "has an entry token that has expired": ("a new place at the back",) * 2 + ("`already-entered`",),
    "left the line": ("a new place at the back",) * 3,
    "lost the place after its grace": ("a new place at the back",) * 3,
}
# The same with the ticket.
REJOIN_TICKET = {
    "was let in a moment ago": ("the entry",) * 3,
    "has an entry token that is still valid": ("the entry",) * 3,
    "has an entry token that has expired": ("a new place at the back",) * 2 + ("`already-entered`",),
    "left the line": ("a new place at the back",) * 3,
    "lost the place after its grace": ("a new place at the back",) * 3,
}


def bring_about(house, visit, session, state):
    """The ticket of a user of whom STATE is true."""
    gateway, headers = house.gateways["users"][0], as_user("u")
    stream = visit(gateway, session, headers=headers)
    stream.wait_event("waiting-state")
    ticket, place = stream.last_id, claims(stream.last_id)["place"]
    if state.startswith("left"):
        assert post(gateway, "leave", headers, ticket=ticket).status_code == 204
        stream.wait_event("closed")
    elif state.startswith("lost"):
        stream.close()
        support.wait_until(lambda: not house.client.hexists(house.key(session, "places"), place), what="the end of the grace")
    else:
        stream.close()  # the entry is not delivered
        support.wait_until(lambda: house.client.zscore(house.key(session, "parked"), place), what="a parked place")
        house.admin("PATCH", f"/admin/sessions/{session}", {"status": "open"})
        support.wait_until(lambda: house.client.zscore(house.key(session, "active"), place), what="a seat")
        house.admin("PATCH", f"/admin/sessions/{session}", {"status": "paused"})
    if state.endswith("valid"):
        support.wait_until(lambda: not house.client.zcard(house.key(session, "outbox")), what="an empty outbox")
    if state.endswith("expired"):
        support.wait_until(lambda: house.client.hexists(house.key(session, "entries"), place), what="an entry")
        house.client.zadd(house.key(session, "active"), {place: 1})
    return ticket


@pytest.mark.parametrize("rejoin", ("keep", "back", "refuse"))
@pytest.mark.parametrize("state", REJOIN)
@pytest.mark.parametrize("has_ticket", (False, True))
def test_coming_back(house, visit, state, rejoin, has_ticket):
    results = (REJOIN_TICKET if has_ticket else REJOIN)[state]
    session = house.create(rejoin=rejoin, graceMs=300 if state.startswith("lost") else 60000, batch=1, intervalMs=100)
    ticket = bring_about(house, visit, session, state)
    stream = visit(house.gateways["users"][1], session, headers={**as_user("u"), **({"Last-Event-ID": ticket} if has_ticket else {})})
    result = results[("keep", "back", "refuse").index(rejoin)]
    if result == "the entry":
        token = stream.wait_event("entry")["data"]["token"]
        assert jwt.decode(token, options={"verify_signature": False})["jti"] == claims(ticket)["place"]
    elif result == "a new place at the back":
        assert stream.wait_event("waiting-state")["data"]["position"] == 1
        assert stream.ticket["place"] != claims(ticket)["place"] and stream.ticket["ticket"] == 2
    else:
        assert f"`{stream.wait_event('refused')['data']['code']}`" == result


def test_the_page_says_what_coming_back_means():
    for name, rows in (("Coming back", REJOIN), ("Coming back with the ticket", REJOIN_TICKET)):
        assert table(name) == (["`keep`", "`back`", "`refuse`"], {row: list(results) for row, results in rows.items()})


# ---- many at once ----

def at_once(acts):
    """Runs all of them as nearly at the same moment as threads can."""
    barrier, results = threading.Barrier(len(acts)), [None] * len(acts)

    def run(number):
        barrier.wait(10)
        results[number] = acts[number]()

    threads = [threading.Thread(target=run, args=(number,)) for number in range(len(acts))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(30)
    return results


def final(stream):
    """What became of a stream: its first event where that was a refusal, else whether it was superseded."""
    if stream.named("refused"):
        return stream.named("refused")[0]["data"]["code"]
    return "superseded" if stream.named("superseded") else "waiting" if stream.named("waiting-state") else None


@pytest.mark.parametrize("per_user,expected", [("many", {"waiting": 24}), ("newest", {"waiting": 1, "superseded": 23}),
                                               ("refuse", {"waiting": 1, "already-waiting": 23})])
def test_one_user_from_two_dozen_devices_at_once(house, visit, per_user, expected):
    session = house.create(perUser=per_user)
    gateways = itertools.cycle(house.gateways["users"])
    headers = as_user("u")
    streams = at_once([lambda gateway=next(gateways): visit(gateway, session, headers=headers) for _ in range(24)])

    def outcome():
        counts = {}
        for stream in streams:
            counts[final(stream)] = counts.get(final(stream), 0) + 1
        return counts
    support.wait_until(lambda: outcome() == expected, what=f"{expected}, not {outcome()}")
    holders = [stream for stream in streams if final(stream) == "waiting"]
    assert not any(stream.ended for stream in holders)
    assert house.client.zcard(house.key(session, "waiting")) == len(holders)
    for stream in streams:
        assert len(stream.named("superseded")) <= 1
    newest = max(stream.ticket["gen"] for stream in holders)
    assert newest == max(stream.ticket["gen"] for stream in streams if stream.last_id and stream.last_id != ".e")


def test_one_ticket_at_two_gateways_at_once_is_one_place(house, visit):
    session = house.create()
    first = visit(house.gateways["anybody"][0], session)
    first.wait_event("waiting-state")
    ticket, gateways = first.last_id, itertools.cycle(house.gateways["anybody"])
    streams = [first, *at_once([lambda gateway=next(gateways): visit(gateway, session, ticket=ticket) for _ in range(16)])]
    support.wait_until(lambda: sorted(str(final(stream)) for stream in streams) == ["superseded"] * 16 + ["waiting"],
                       what="one holder")
    assert house.client.zcard(house.key(session, "waiting")) == 1
    assert len({stream.ticket["place"] for stream in streams}) == 1


def test_a_poller_and_a_stream_of_one_user_are_one_place(house, visit):
    session = house.create(perUser="refuse")
    gateways, headers = house.gateways["users"], as_user("u")
    answers = at_once([lambda number=number: post(gateways[number % 2], "join", headers, sessionId=session).json() for number in range(16)])
    joined = [answer for answer in answers if "ticket" in answer]
    assert len(joined) == 1 and {answer.get("code") for answer in answers} == {None, "already-waiting"}
    assert status(gateways[1], joined[0]["ticket"], headers)["position"] == 1
    stream = visit(gateways[1], session, headers=headers)
    assert stream.wait_event("refused")["data"]["code"] == "already-waiting"
    moved = visit(gateways[1], session, ticket=joined[0]["ticket"], headers=headers)
    assert moved.wait_event("waiting-state")["data"]["position"] == 1
    assert house.client.zcard(house.key(session, "parked")) == 0


# ---- tickets that are somebody else's ----

def test_a_stolen_ticket_is_worthless_without_the_user(house, visit):
    session = house.create()
    gateway = house.gateways["users"][0]
    mine = visit(gateway, session, headers=as_user("me"))
    mine.wait_event("waiting-state")
    ticket, before = mine.last_id, house.dump(session)
    for headers, code in ((as_user("thief"), 400), ({}, 401)):
        assert post(gateway, "join", headers, sessionId=session, ticket=ticket).status_code == code
        assert post(gateway, "leave", headers, ticket=ticket).status_code == code
        answer = requests.get(f"{gateway.url('public')}/api/queue/status", params={"ticket": ticket}, headers=headers, timeout=5)
        assert answer.status_code == code
    refused = visit(gateway, session, ticket=ticket, headers=as_user("thief"))
    assert refused.wait_event("refused")["data"]["code"] == "bad-ticket"
    assert house.dump(session) == before and not mine.ended


def test_a_ticket_made_for_nobody_is_not_a_users(house):
    session = house.create()
    anonymous = post(house.gateways["anybody"][0], "join", sessionId=session).json()["ticket"]
    answer = post(house.gateways["users"][0], "join", as_user("u"), sessionId=session, ticket=anonymous)
    assert answer.status_code == 400 and answer.json()["code"] == "bad-ticket"
    users = post(house.gateways["users"][0], "join", as_user("u"), sessionId=session).json()["ticket"]
    assert post(house.gateways["anybody"][0], "join", sessionId=session, ticket=users).status_code == 400


@pytest.mark.parametrize("name", ("Last-Event-ID", "ticket", "X-Anteroom-Ticket", "cookie"))
def test_which_ticket_wins(house, name):
    """Last-Event-ID over ticket= over its header over the cookie."""
    session = house.create()
    gateway = house.gateways["anybody"][0]
    order = ("Last-Event-ID", "ticket", "X-Anteroom-Ticket", "cookie")
    tickets = {source: post(gateway, "join", sessionId=session).json()["ticket"] for source in order[order.index(name):]}
    params = {"ticket": tickets.pop("ticket")} if "ticket" in tickets else {}
    headers = {source: ticket for source, ticket in tickets.items() if source != "cookie"}
    if "cookie" in tickets:
        headers["Cookie"] = f"anteroom_ticket_{session}={tickets['cookie']}"
    answer = post(gateway, "join", headers, sessionId=session, **params).json()
    assert answer["position"] == 1  # the first that joined is the one that wins


def test_the_answers_carry_no_secret_into_the_log(house):
    session = house.create()
    ticket = post(house.gateways["users"][0], "join", as_user("secret-user"), sessionId=session).json()["ticket"]
    post(house.gateways["users"][0], "join", as_user("secret-user"), sessionId=session, ticket=ticket + "x")
    for daemon in house.daemons():
        assert not re.search("secret-user|" + re.escape(ticket), daemon.text())
