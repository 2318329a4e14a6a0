"""The site's side of an entry token: verify, redeem, release."""

import concurrent.futures
import re
import socket
import threading
import time
from datetime import datetime, timezone
from urllib.parse import unquote

import jwt
import pytest
import requests

import proxy
import support
import tokens
import visitors
from test_refusals import USER_KEY, user_token

ENTRY_HEADERS = ("X-Anteroom-Session", "X-Anteroom-User", "X-Anteroom-Place", "X-Anteroom-Expires")


def call(gateway, path, token=None, method="GET", headers=None, **more):
    headers = {**({"X-Entry-Token": token} if token else {}), **(headers or {})}
    return requests.request(method, gateway.url("public") + "/api/queue/" + path, headers=headers, timeout=10, **more)


def verify(gateway, token=None, session="s", **more):
    return call(gateway, f"verify?sessionId={session}", token, **more)


def redeem(gateway, token=None, by=None, session="s", **more):
    return call(gateway, f"redeem?sessionId={session}" + (f"&by={by}" if by is not None else ""), token, "POST", **more)


def release(gateway, token=None, query="", **more):
    return call(gateway, "release" + query, token, "POST", **more)


def assert_problem(answer, status, code):
    assert answer.status_code == status, (answer.status_code, answer.text)
    assert answer.headers["Content-Type"] == "application/problem+json" and answer.headers["Cache-Control"] == "no-store"
    assert answer.json()["code"] == code and answer.json()["detail"]
    if status == 401:
        assert answer.headers["WWW-Authenticate"] == "Bearer"


def is_used(client, token, session="s"):
    place = jwt.decode(token, options={"verify_signature": False})["jti"]
    return client.get(f"session:{{{session}}}:used:{place}")


# ---- verify ----


def test_a_real_entry_verifies_and_says_whose_it_is(admin, gateway, visit):
    admin.create("s")
    stream = visit(gateway)
    token = stream.wait_event("entry")["data"]["token"]
    claims = visitors.entry_of(stream, "s")
    answer = verify(gateway, token)
    assert answer.status_code == 204 and answer.headers["Cache-Control"] == "no-store" and not answer.content
    expires = datetime.fromtimestamp(claims["exp"], timezone.utc).strftime("%Y-%m-%dT%H:%M:%S.000Z")
    assert [answer.headers[name] for name in ENTRY_HEADERS] == ["s", claims["sub"], claims["jti"], expires]
    assert verify(gateway, token, method="HEAD").status_code == 204


def test_each_way_to_show_a_token_and_the_first_valid_one_counts(gateway):
    token, other = tokens.entry_token(), tokens.entry_token("other")
    ways = [{"Authorization": f"Bearer {token}"}, {"Authorization": f"bearer  {token}"}, {"X-Entry-Token": token},
            {"Cookie": f"a=b; anteroom_entry_s={token}"},
            {"Authorization": "Bearer the-sites-own", "Cookie": f"anteroom_entry_s={token}"},
            {"Authorization": "Basic dTpw", "X-Entry-Token": token},
            {"Authorization": f"Bearer {other}", "Cookie": "anteroom_entry_s=old", "X-Entry-Token": token}]
    for headers in ways:
        assert verify(gateway, headers=headers).status_code == 204, headers
    for headers in ({"Cookie": f"anteroom_entry_other={token}"}, {"Cookie": f"access_token={token}"}, {"X-Anteroom-Ticket": token},
                    {"Authorization": token}, {"Authorization": f"Bearer{token}"}):
        assert_problem(verify(gateway, headers=headers), 401, "unauthorized")
    assert_problem(call(gateway, f"verify?sessionId=s&access_token={token}"), 401, "unauthorized")


def test_verify_works_without_redis(gateway, redis_server):
    redis_server.kill()
    gateway.wait_log("redis-down", connection="commands")
    assert verify(gateway, tokens.entry_token()).status_code == 204
    assert_problem(verify(gateway, tokens.entry_token("other")), 401, "unauthorized")
    assert_problem(redeem(gateway, tokens.entry_token()), 503, "unavailable")
    assert_problem(release(gateway, tokens.entry_token()), 503, "unavailable")
    redis_server.start()


@pytest.mark.parametrize("use", [redeem, release])
def test_a_used_token_verifies_no_more(start_gateway, use):
    """Through any gateway."""
    gateways, token = [start_gateway("gw-1"), start_gateway("gw-2")], tokens.entry_token()
    assert verify(gateways[0], token).status_code == 204
    assert use(gateways[0], token).status_code == 204
    for gateway in gateways:
        assert_problem(verify(gateway, token), 401, "used")


def test_a_redis_that_hangs_costs_verify_one_short_wait(gateway, client, redis_server):
    """A used token passes then: single use is redeem's promise. Once Redis answers it is refused again."""
    used, other = tokens.entry_token(), tokens.entry_token()
    assert redeem(gateway, used).status_code == 204
    assert_problem(verify(gateway, used), 401, "used")
    redis_server.pause()
    try:
        with concurrent.futures.ThreadPoolExecutor(20) as pool:
            assert {answer.status_code for answer in pool.map(lambda n: verify(gateway, (used, other)[n % 2]), range(100))} == {204}
        begun = time.monotonic()
        assert verify(gateway, other).status_code == 204
        assert time.monotonic() - begun < 0.2, "nobody waits any more"
    finally:
        redis_server.resume()
    support.wait_until(lambda: verify(gateway, used).status_code == 401, what="Redis to be asked again")


def test_clients_that_go_away_while_verify_waits(gateway, redis_server):
    redis_server.pause()
    try:
        host, port = gateway.address("public").split(":")
        for _ in range(20):
            with socket.create_connection((host, int(port)), timeout=5) as link:
                link.sendall(f"GET /api/queue/verify?sessionId=s HTTP/1.1\r\nHost: a\r\nX-Entry-Token: {tokens.entry_token()}\r\n\r\n".encode())
        assert verify(gateway, tokens.entry_token()).status_code == 204
    finally:
        redis_server.resume()
    support.wait_until(lambda: support.metric(gateway, "anteroom_redis_up") == 1, what="Redis")
    assert verify(gateway, tokens.entry_token()).status_code == 204


def test_a_gateway_that_never_met_redis_verifies_too(folder, redis_server, start_gateway):
    gateway = start_gateway(wait=False, redis_url=f"unix://{folder.path}/nobody")
    assert verify(gateway, tokens.entry_token()).status_code == 204
    assert_problem(redeem(gateway, tokens.entry_token()), 503, "unavailable")


@pytest.mark.parametrize("user,shown", [
    ("plain-user_1.x@example.com", "plain-user_1.x@example.com"),
    ("a b", "a%20b"),
    ("홍길동", "%ED%99%8D%EA%B8%B8%EB%8F%99"),
    ('%"\',;\\', "%25%22%27%2C%3B%5C"),
    ("x" * 128, "x" * 128),
    ("é" * 64, "%C3%A9" * 64),
])
def test_the_user_is_safe_in_a_header(gateway, user, shown):
    answer = verify(gateway, tokens.entry_token(sub=user))
    assert answer.status_code == 204 and answer.headers["X-Anteroom-User"] == shown and unquote(shown) == user


@pytest.mark.parametrize("user", ["a\r\nSet-Cookie: a=b", "a\nb", "a\x00b", "a\x7fb", "\t", "", "x" * 129, 7, None, ["u"]])
def test_users_that_no_header_could_hold_are_refused(gateway, user):
    answer = verify(gateway, tokens.entry_token(sub=user))
    assert_problem(answer, 401, "unauthorized")
    assert not any(name in answer.headers for name in ("Set-Cookie", *ENTRY_HEADERS))


SESSIONS = ["", "sessionId=", "sessionId=other", "sessionId=" + "a" * 65, "sessionId=a%20b", "sessionId=%0D%0Ax", "sessionId=%00",
            "sessionId=s&sessionId=s", "sessionId=%zz", "sessionId=%ED%95%9C", "sessionid=s", "sessionId=s%00", "x=1&y=%%%"]


@pytest.mark.parametrize("query", SESSIONS)
def test_verify_says_401_whatever_the_session_is(gateway, query):
    assert_problem(call(gateway, "verify?" + query, tokens.entry_token()), 401, "unauthorized")


def test_an_answer_is_a_status_whatever_is_accepted(gateway, redis_server):
    """200 with an event would let everybody in."""
    events = {"Accept": "text/event-stream", "Sec-Fetch-Mode": "navigate", "Sec-Fetch-Site": "cross-site", "Origin": "https://evil.test"}
    assert verify(gateway, tokens.entry_token(), headers=events).status_code == 204
    assert_problem(verify(gateway, headers=events), 401, "unauthorized")
    assert_problem(redeem(gateway, headers=events), 401, "unauthorized")
    assert_problem(release(gateway, headers=events), 401, "unauthorized")
    token = tokens.entry_token()
    assert redeem(gateway, token, headers=events).status_code == 204
    assert_problem(redeem(gateway, token, headers=events), 401, "used")
    redis_server.kill()
    gateway.wait_log("redis-down", connection="commands")
    assert_problem(redeem(gateway, tokens.entry_token(), headers=events), 503, "unavailable")
    redis_server.start()


def test_verify_may_be_limited_by_the_clients_address(start_gateway):
    gateway = start_gateway(verify_limit="2/3600", trusted_proxies="127.0.0.0/8", join_limit_exempt="203.0.113.9")
    token = tokens.entry_token()

    def from_address(address, **more):
        return verify(gateway, token, headers={"X-Forwarded-For": address, **more})

    assert [from_address("203.0.113.7").status_code for _ in range(2)] == [204, 204]
    answer = from_address("203.0.113.7", Accept="text/event-stream")
    assert_problem(answer, 403, "rate-limited")
    assert int(answer.headers["Retry-After"]) > 1000
    assert from_address("203.0.113.8").status_code == 204
    assert [from_address("203.0.113.9").status_code for _ in range(4)] == [204] * 4
    assert redeem(gateway, token, headers={"X-Forwarded-For": "203.0.113.7"}).status_code == 204
    assert support.metric(gateway, "anteroom_refusals_total", code="rate-limited") == 1


def exchange(gateway, data):
    """The status of an answer to raw bytes."""
    host, port = gateway.address("public").split(":")
    with socket.create_connection((host, int(port)), timeout=10) as link:
        link.sendall(data)
        head = link.makefile("rb").readline()
    return int(head.split()[1])


def test_only_what_is_no_http_request_gets_another_status_from_verify(gateway):
    """The list in docs/http-api.md."""
    start, end = b"GET /api/queue/verify?sessionId=s HTTP/1.1\r\nHost: a\r\n", b"\r\n"
    for junk in (b"X-Entry-Token: " + bytes(range(0x80, 0x100)) + b"\r\n", b"X-Entry-Token: " + b"a" * 12000 + b"\r\n",
                 b"Cookie: " + b"anteroom_entry_s=;" * 500 + b"\r\n", b"Authorization: Bearer \r\n", b"Authorization:\r\n",
                 b"X-Entry-Token: ...\r\n" * 50, b"Expect: 100-continue\r\n", b"Content-Length: 0\r\n", b"Accept: \xff\r\n"):
        assert exchange(gateway, start + junk + end) == 401, junk
    for status, request in ((400, start + b"Content-Length: 1\r\n\r\nx"), (400, start + b"Host: b\r\n\r\n"),
                            (405, b"POST /api/queue/verify?sessionId=s HTTP/1.1\r\nHost: a\r\n\r\n"),
                            (414, b"GET /api/queue/verify?" + b"a" * 9000 + b" HTTP/1.1\r\nHost: a\r\n\r\n"),
                            (431, start + b"X-Entry-Token: " + b"a" * 17000 + b"\r\n\r\n")):
        assert exchange(gateway, request) == status, request[:60]


# ---- redeem ----


def test_a_token_is_redeemed_once_and_the_same_caller_may_ask_again(gateway, client):
    token = tokens.entry_token()
    assert redeem(gateway, token, by="order-7").status_code == 204
    assert re.fullmatch(r"\d{13} order-7", is_used(client, token))
    place = jwt.decode(token, options={"verify_signature": False})["jti"]
    left = client.ttl(f"session:{{s}}:used:{place}")
    assert 600 + 30 < left <= 600 + 30 + 300
    assert redeem(gateway, token, by="order-7").status_code == 204
    for by in (None, "order-8", "order-", "order-77", "(released)"):
        answer = redeem(gateway, token, by=by)
        assert_problem(answer, *((400, "bad-request") if by == "(released)" else (401, "used")))
        assert is_used(client, token).endswith(" order-7")  # whoever comes too late leaves no mark
    assert_problem(redeem(gateway, token, by="order-8"), 401, "used")
    assert redeem(gateway, token, by="order-7").status_code == 204
    nobody = tokens.entry_token()
    assert redeem(gateway, nobody).status_code == 204
    assert_problem(redeem(gateway, nobody), 401, "used")
    assert support.metric(gateway, "anteroom_refusals_total", code="used") == 6


def test_the_same_caller_has_a_minute(gateway, client):
    token = tokens.entry_token()
    assert redeem(gateway, token, by="b").status_code == 204
    key = f"session:{{s}}:used:{jwt.decode(token, options={'verify_signature': False})['jti']}"
    at = int(client.get(key).split()[0])
    client.set(key, f"{at - 50000} b")
    assert redeem(gateway, token, by="b").status_code == 204
    client.set(key, f"{at - 61000} b")
    assert_problem(redeem(gateway, token, by="b"), 401, "used")
    for odd in ("", "b", " b", "x b", f"{at}b", f"{at}  b"):
        client.set(key, odd)
        assert_problem(redeem(gateway, token, by="b"), 401, "used")
    client.delete(key)
    client.lpush(key, "a list")
    assert_problem(redeem(gateway, token, by="b"), 503, "unavailable")


def test_by_is_checked(gateway, client):
    token = tokens.entry_token()
    for by in ("", "a" * 65, "a%20b", "%0A", "a/b", "%ED%95%9C", "a&by=a", "%00"):
        assert_problem(redeem(gateway, token, by=by), 400, "bad-request")
    for session in ("", "a%20b", "a" * 65):
        assert_problem(redeem(gateway, token, session=session), 400, "bad-session")
    assert not client.keys("*used*")
    assert redeem(gateway, token, by="a" * 64).status_code == 204


def test_of_fifty_callers_at_two_gateways_one_wins(start_gateway, client):
    both = [start_gateway("gw-1"), start_gateway("gw-2")]
    for round_ in range(4):
        token, together = tokens.entry_token(), threading.Barrier(50)

        def one(n, token=token, together=together):
            together.wait(30)
            return redeem(both[n % 2], token, by=f"caller-{n}" if round_ % 2 else None)

        with concurrent.futures.ThreadPoolExecutor(50) as pool:
            answers = list(pool.map(one, range(50)))
        assert sorted(answer.status_code for answer in answers) == [204] + [401] * 49
        assert {answer.json()["code"] for answer in answers if answer.status_code == 401} == {"used"}


def test_a_lost_answer_is_asked_for_again(folder, redis_server, start_gateway):
    """Redis carried it out, and nobody heard: the caller is told 503, and 204 when it asks again; nobody else is."""
    between = proxy.Proxy(folder.path, redis_server.socket)
    gateway = start_gateway(redis_url=between.url)
    token = tokens.entry_token()
    between.hold("anteroom-gateway")
    assert_problem(redeem(gateway, token, by="me"), 503, "unavailable")
    assert is_used(redis_server.client, token).endswith(" me")
    between.release("anteroom-gateway")
    support.wait_until(lambda: redeem(gateway, token, by="me").status_code == 204, what="Redis to be back")
    assert_problem(redeem(gateway, token, by="you"), 401, "used")
    between.close()


def test_a_caller_that_goes_away_leaves_nothing_behind(folder, redis_server, start_gateway):
    between = proxy.Proxy(folder.path, redis_server.socket)
    gateway = start_gateway(redis_url=between.url)
    assert release(gateway, tokens.entry_token()).status_code == 204  # Redis knows the script from now on
    between.hold("anteroom-gateway")
    host, port = gateway.address("public").split(":")
    for path in ("redeem?sessionId=s", "release"):
        token = tokens.entry_token()
        with socket.create_connection((host, int(port))) as link:
            link.sendall(f"POST /api/queue/{path} HTTP/1.1\r\nHost: a\r\nX-Entry-Token: {token}\r\n\r\n".encode())
            support.wait_until(lambda: is_used(redis_server.client, token), what="the mark")
    between.release("anteroom-gateway")
    support.wait_until(lambda: redeem(gateway, tokens.entry_token()).status_code == 204, what="Redis to be back")
    between.close()


# ---- release ----


def entered(visit, gateway, count, session="s", **options):
    """Streams until they have their entries: [(stream, token)]."""
    streams = [visit(gateway, session, **options) for _ in range(count)]
    return [(stream, stream.wait_event("entry")["data"]["token"]) for stream in streams]


def test_a_released_seat_is_taken_at_once(start_publisher, gateway, visit, client):
    publisher = start_publisher(tick_ms=60000, lease_ms=600000)  # so only the doorbell can be that quick
    admin = support.Admin(publisher.url("admin"))
    admin.create("s", activeLimit=2, batch=10, intervalMs=100)
    publisher.wait_log("owner", session="s")
    inside = []
    for _ in range(2):
        inside += entered(visit, gateway, 1)
    waiting = visit(gateway)
    waiting.wait_position(1)
    place = visitors.entry_of(inside[0][0], "s")["jti"]
    assert release(gateway, inside[0][1]).status_code == 204
    waiting.wait_event("entry")
    for part in ("places", "entries"):
        assert not client.hexists(f"session:{{s}}:{part}", place)
    for part in ("active", "outbox"):
        assert client.zscore(f"session:{{s}}:{part}", place) is None
    assert release(gateway, inside[0][1]).status_code == 204  # and nobody gets a second seat by that
    assert client.zcard("session:{s}:active") == 2
    assert_problem(redeem(gateway, inside[0][1], by="x"), 401, "used")
    assert client.ttl("session:{s}:used:" + place) > 600  # the mark outlives the token
    admin.close()


def test_the_session_of_a_release_is_the_tokens(admin, gateway, visit, client):
    admin.create("s", activeLimit=1)
    (_, token), = entered(visit, gateway, 1)
    assert_problem(release(gateway, token, "?sessionId=other"), 401, "unauthorized")
    assert_problem(release(gateway, token, "?sessionId=a%20b"), 400, "bad-session")
    assert_problem(release(gateway), 401, "unauthorized")
    assert client.zcard("session:{s}:active") == 1
    assert release(gateway, headers={"Cookie": f"anteroom_entry_s={token}"}).status_code == 401  # whose cookie?
    assert release(gateway, query="?sessionId=s", headers={"Cookie": f"anteroom_entry_s={token}"}).status_code == 204
    assert client.zcard("session:{s}:active") == 0


def test_who_redeemed_stays_on_record_after_the_release(admin, gateway, visit, client):
    admin.create("s")
    (_, token), = entered(visit, gateway, 1)
    assert redeem(gateway, token, by="shop").status_code == 204
    mark = is_used(client, token)
    assert release(gateway, token).status_code == 204
    assert is_used(client, token) == mark and mark.endswith(" shop")


def test_sessions_that_are_no_more_have_nothing_to_release(admin, gateway, client):
    token = tokens.entry_token("nobody")
    assert release(gateway, token).status_code == 204
    assert set(client.keys("session:{nobody}:*")) == {f"session:{{nobody}}:used:{jwt.decode(token, options={'verify_signature': False})['jti']}"}


@pytest.mark.parametrize("rejoin", ["keep", "back", "refuse"])
def test_a_released_user_comes_back_as_the_session_says(admin, start_gateway, folder, visit, rejoin):
    gateway = start_gateway(user_auth="jwt", user_key_file=folder.write("user.key", USER_KEY), user_audience="queue")
    admin.create("s", rejoin=rejoin)
    mine = {"Authorization": f"Bearer {user_token('me')}"}
    first = visit(gateway, headers=mine)
    token = first.wait_event("entry")["data"]["token"]
    assert release(gateway, token).status_code == 204
    again = visit(gateway, headers=mine)
    if rejoin == "refuse":
        assert again.wait_event("refused")["data"]["code"] == "already-entered"
    else:
        assert again.wait_event("entry")["data"]["token"] != token
        assert again.ticket["place"] != first.ticket["place"]


def test_a_release_before_the_publisher_has_confirmed_the_entry(start_publisher, gateway, visit, client):
    """The place is still in the outbox: it must not be signed again, nor have its seat back."""
    publisher = start_publisher(tick_ms=60000, lease_ms=600000)
    admin = support.Admin(publisher.url("admin"))
    admin.create("s", activeLimit=1)
    publisher.wait_log("owner", session="s")
    (_, token), = entered(visit, gateway, 1)
    assert client.zcard("session:{s}:outbox") == 1  # the next tick would confirm it
    assert release(gateway, token).status_code == 204
    visit(gateway).wait_event("entry")
    assert client.zcard("session:{s}:active") == 1 and client.xlen("session:{s}:admissions") == 2
    admin.close()


class Seats:
    """What the scripts do to the seats, one command after the other as Redis carries them out (MONITOR)."""

    def __init__(self, client, session="s"):
        self.client, self.peak, self.released = client, 0, 0
        self._key, self._ends = f"session:{{{session}}}:", {}  # place → last second of its token
        self._monitor = client.monitor()
        self._monitor.__enter__()
        self._thread = threading.Thread(target=self._read, daemon=True)
        self._thread.start()

    def _read(self):
        for line in self._monitor.listen():
            words = line["command"].split(" ")
            if words == ["ECHO", "done"]:
                return
            if words[0] == "ZADD" and words[1] == self._key + "active":
                self._ends[words[-1]] = int(words[-2])
            elif words[0] == "ZREM" and words[1] == self._key + "active":
                self.released += self._ends.pop(words[2], 0) > line["time"]
            elif words[0] == "XADD" and words[1] == self._key + "admissions":
                at = int(words[words.index("at") + 1]) // 1000
                self.peak = max(self.peak, sum(end > at for end in self._ends.values()))

    def close(self):
        """All that was done until now has been seen."""
        self.client.echo("done")
        self._thread.join(30)
        assert not self._thread.is_alive()
        self._monitor.__exit__()


def test_never_more_inside_than_the_limit(start_publisher, start_gateway, visit, client):
    """Joins, short tokens that expire, releases through two gateways, two publishers."""
    limit, seconds = 5, 5
    publishers = [start_publisher(tick_ms=50, lease_ms=1000) for _ in range(2)]
    both = [start_gateway("gw-1"), start_gateway("gw-2")]
    admin = support.Admin(publishers[0].url("admin"))
    seats, most, end = Seats(client), 0, time.monotonic() + seconds
    admin.create("s", activeLimit=limit, batch=50, intervalMs=100, tokenTtlSeconds=5)

    def guest(n):
        """Comes, is let in, releases three times of four, and comes again."""
        rounds = 0
        while time.monotonic() < end:
            stream = visit(both[n % 2])
            token = stream.wait_event("entry", timeout=30)["data"]["token"]
            stream.close()
            rounds += 1
            if (n + rounds) % 4:
                assert release(both[(n + 1) % 2], token).status_code == 204
        return rounds

    with concurrent.futures.ThreadPoolExecutor(20) as pool:
        guests = [pool.submit(guest, n) for n in range(20)]
        while not all(one.done() for one in guests):
            most = max(most, client.zcount("session:{s}:active", f"({client.time()[0]}", "+inf"))
            support.NEVER.wait(0.005)
        rounds = sum(one.result() for one in guests)
    seats.close()
    assert most <= limit and seats.peak == limit, "the limit was met, and never passed"
    assert client.xlen("session:{s}:admissions") == rounds and seats.released > 10
    admin.close()
