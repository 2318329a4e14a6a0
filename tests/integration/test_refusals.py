"""Every refusal: its status and code for ordinary clients, what an event stream is told, and nothing changed in Redis."""

import time

import jwt
import pytest
import requests

import support
import visitors

USER_KEY = "user-key-for-tests-0123456789-abcdefghijk"
FAR = "2099-01-01T00:00:00Z"


def ticket_for(session="s", place="a" * 22, key=support.TICKET_KEY, kind="anteroom-ticket+jwt", **more):
    claims = {"aud": "anteroom-gateway", "session": session, "place": place, "epoch": 1, "ticket": 1, "gen": 1, **more}
    return jwt.encode(claims, key, algorithm="HS256", headers={"typ": kind})


def user_token(user="u", key=USER_KEY, **more):
    return jwt.encode({"sub": user, "exp": int(time.time()) + 60, "aud": "queue", **more}, key, algorithm="HS256")


@pytest.fixture
def sessions(admin):
    admin.create("s", status="paused")
    admin.create("closed", status="closed")
    admin.create("full", status="paused", maxWaiting=1)
    admin.create("later", startsAt=FAR, lobby="none")
    admin.create("ended", endsAt="2020-01-01T00:00:00Z")
    admin.create("gone", stock=0)
    return admin


def refused(gateway, client, method, path, status, code, headers=None, sent=None):
    """The refusal, its form, and an unchanged Redis."""
    before = support.dump(client)
    answer = requests.request(method, gateway.url("public") + path, headers=headers, data=sent, timeout=10, allow_redirects=False)
    assert answer.status_code == status, answer.text
    assert answer.headers["Content-Type"] == "application/problem+json"
    assert answer.headers["Cache-Control"] == "no-store" and answer.headers["X-Content-Type-Options"] == "nosniff"
    body = answer.json()
    assert body["code"] == code and body["status"] == status and body["type"] == f"/problems/{code}"
    assert body["instance"] == answer.headers["X-Request-Id"] and body["title"] and body["detail"]
    if "retryAfterSeconds" in body:
        assert answer.headers["Retry-After"] == str(body["retryAfterSeconds"])
    assert support.dump(client) == before
    return answer


STREAM = "/api/queue/stream?sessionId="
BAD_IDS = ["", "a" * 65, "a%20b", "a%7Bb", "a%7Db", "a:b", "%0D%0A", "%00", "a%2Fb", "%ED%95%9C", "a&sessionId=b"]


@pytest.mark.parametrize("session", BAD_IDS)
def test_odd_session_ids_never_become_keys(sessions, gateway, client, session):
    refused(gateway, client, "GET", STREAM + session, 400, "bad-session")
    refused(gateway, client, "POST", "/api/queue/join?sessionId=" + session, 400, "bad-session")


@pytest.mark.parametrize("path,status,code", [
    ("/api/queue/stream", 400, "bad-session"),
    (STREAM + "nobody", 404, "unknown-session"),
    (STREAM + "closed", 410, "closed"),
    (STREAM + "ended", 410, "closed"),
    (STREAM + "later", 409, "not-started"),
    (STREAM + "s&ticket=nonsense", 400, "bad-ticket"),
    ("/nothing", 404, "not-found"),
    ("/api/queue/status?ticket=", 400, "bad-ticket"),
    ("/api/queue/status", 400, "bad-ticket"),
    ("/api/queue/status?ticket=a.b.c", 400, "bad-ticket"),
    ("/room/a%20b", 400, "bad-session"),
    ("/problems/nonsense", 404, "not-found"),
])
def test_by_status(sessions, gateway, client, path, status, code):
    answer = refused(gateway, client, "GET", path, status, code)
    if code == "not-started":
        assert answer.json()["startsAt"] == "2099-01-01T00:00:00.000Z" and int(answer.headers["Retry-After"]) > 0


def test_a_wrong_kind_of_user(sessions, gateway, client):
    refused(gateway, client, "POST", "/api/queue/join?sessionId=s&userType=ROBOT", 400, "bad-request")
    refused(gateway, client, "POST", "/api/queue/join?sessionId=s&userType=VIRTUAL", 400, "bad-request")


def test_sold_out_and_full(sessions, gateway, client, visit):
    support.wait_until(lambda: client.hget("session:{gone}:state", "phase") == "sold-out", what="sold out")
    refused(gateway, client, "GET", STREAM + "gone", 410, "sold-out")
    first = visit(gateway, "full")
    first.wait_event("waiting-state")
    support.wait_until(lambda: client.hmget("session:{full}:state", "dirty")[0] == "0", what="a settled line")
    answer = refused(gateway, client, "GET", STREAM + "full", 503, "line-full")
    assert int(answer.headers["Retry-After"]) >= 1


@pytest.mark.parametrize("make", [
    lambda: ticket_for(key="another-key-0123456789-0123456789-0123"),
    lambda: ticket_for(session="other"),
    lambda: ticket_for(kind="JWT"),
    lambda: ticket_for(aud="someone"),
    lambda: ticket_for(place="short"),
    lambda: ticket_for(gen=0),
    lambda: ticket_for(user="somebody"),
    lambda: ticket_for()[:-3],
    lambda: "eyJhbGciOiJub25lIn0." + ticket_for().split(".")[1] + ".",
    lambda: jwt.encode({"iss": "anteroom", "aud": "s", "sub": "u", "jti": "a" * 22, "exp": 9999999999}, support.ENTRY_KEY, algorithm="HS256"),
])
def test_forged_and_foreign_tickets(sessions, gateway, client, make):
    ticket = make()
    refused(gateway, client, "GET", STREAM + "s&ticket=" + ticket, 400, "bad-ticket")
    refused(gateway, client, "GET", STREAM + "s", 400, "bad-ticket", headers={"Last-Event-ID": ticket})
    for method, path in (("GET", "/api/queue/status"), ("POST", "/api/queue/leave")):
        if ticket != ticket_for(session="other"):
            refused(gateway, client, method, f"{path}?ticket={ticket}", 400, "bad-ticket")


def test_methods(sessions, gateway, client):
    answer = refused(gateway, client, "DELETE", STREAM + "s", 405, "method-not-allowed")
    assert answer.headers["Allow"] == "GET, OPTIONS"
    refused(gateway, client, "POST", STREAM + "s", 405, "method-not-allowed")
    refused(gateway, client, "GET", "/api/queue/join?sessionId=s", 405, "method-not-allowed")
    before = support.dump(client)
    assert requests.head(gateway.url("public") + STREAM + "s", timeout=5).status_code == 405
    assert support.dump(client) == before


def test_too_much(sessions, gateway, client):
    refused(gateway, client, "POST", "/api/queue/join?sessionId=s", 413, "payload-too-large", sent=b"x" * 65537)
    refused(gateway, client, "GET", STREAM + "s&x=" + "y" * 9000, 414, "uri-too-long")
    refused(gateway, client, "GET", STREAM + "s", 431, "header-too-large", headers={"X-Big": "y" * 17000})


def test_origins(sessions, start_gateway, client):
    gateway = start_gateway(allow_origins="https://shop.example", public_url="https://queue.example")
    for headers in ({"Origin": "https://evil.example"}, {"Origin": "null"}, {"Sec-Fetch-Site": "cross-site"},
                    {"Sec-Fetch-Site": "same-site", "Sec-Fetch-Mode": "no-cors"}, {"Origin": "https://queue.example.evil"}):
        for method, path in (("GET", STREAM + "s"), ("POST", "/api/queue/join?sessionId=s"), ("POST", "/api/queue/leave?ticket=x")):
            answer = refused(gateway, client, method, path, 403, "origin-refused", headers={**headers, "Accept": "text/event-stream"})
            assert "Origin" in answer.headers["Vary"] and "Access-Control-Allow-Origin" not in answer.headers
    allowed = requests.post(gateway.url("public") + "/api/queue/join?sessionId=s", headers={"Origin": "https://shop.example"}, timeout=5)
    assert allowed.status_code == 200 and allowed.headers["Access-Control-Allow-Origin"] == "https://shop.example"
    assert "__Host-anteroom_ticket_s" in allowed.cookies
    preflight = requests.options(gateway.url("public") + "/api/queue/join", headers={"Origin": "https://shop.example"}, timeout=5)
    assert preflight.status_code == 204 and preflight.headers["Access-Control-Max-Age"] == "600"
    tab = requests.get(gateway.url("public") + STREAM + "s", headers={"Sec-Fetch-Mode": "navigate"}, timeout=5, allow_redirects=False)
    assert tab.status_code == 303 and tab.headers["Location"] == "/room/s"


def test_rate_limit_by_the_clients_address(sessions, start_gateway, client):
    gateway = start_gateway(join_limit="2/3600", trusted_proxies="127.0.0.0/8")
    join = gateway.url("public") + "/api/queue/join?sessionId=s"
    for _ in range(2):
        joined = requests.post(join, headers={"X-Forwarded-For": "203.0.113.7"}, timeout=5)
        assert joined.status_code == 200
    answer = refused(gateway, client, "POST", "/api/queue/join?sessionId=s", 429, "rate-limited", headers={"X-Forwarded-For": "1.1.1.1, 203.0.113.7"})
    assert int(answer.headers["Retry-After"]) > 1000
    assert requests.post(join, headers={"X-Forwarded-For": "203.0.113.8"}, timeout=5).status_code == 200
    resumed = requests.post(join + "&ticket=" + joined.json()["ticket"], headers={"X-Forwarded-For": "203.0.113.7"}, timeout=5)
    assert resumed.status_code == 200 and resumed.json()["position"] == 2


def test_an_untrusted_peer_cannot_choose_its_address(sessions, start_gateway):
    gateway = start_gateway(join_limit="1/3600")
    join = gateway.url("public") + "/api/queue/join?sessionId=s"
    assert requests.post(join, headers={"X-Forwarded-For": "203.0.113.7"}, timeout=5).status_code == 200
    assert requests.post(join, headers={"X-Forwarded-For": "203.0.113.8"}, timeout=5).status_code == 429


def test_users(admin, start_gateway, folder, client, visit):
    key = folder.write("user.key", USER_KEY)
    gateway = start_gateway(user_auth="jwt", user_key_file=key, user_audience="queue")
    admin.create("s", status="paused", perUser="refuse", rejoin="refuse")
    bad = [None, "nonsense", user_token(exp=1), user_token(aud="other"), user_token(key="x" * 40), user_token(sub=""),
           jwt.encode({"sub": "u", "aud": "queue", "exp": 9999999999}, None, algorithm="none")]
    for token in bad:
        headers = {"Authorization": f"Bearer {token}"} if token else {}
        answer = refused(gateway, client, "GET", STREAM + "s", 401, "unauthorized", headers=headers)
        assert answer.headers["WWW-Authenticate"] == "Bearer"
    mine = {"Authorization": f"Bearer {user_token('me')}"}
    stream = visit(gateway, headers=mine)
    stream.wait_event("waiting-state")
    support.wait_until(lambda: client.hmget("session:{s}:state", "dirty")[0] == "0", what="a settled line")
    refused(gateway, client, "GET", STREAM + "s", 409, "already-waiting", headers=mine)
    refused(gateway, client, "GET", STREAM + "s&ticket=" + stream.last_id, 401, "unauthorized")
    refused(gateway, client, "GET", STREAM + "s&ticket=" + stream.last_id, 400, "bad-ticket", headers={"Authorization": f"Bearer {user_token('you')}"})
    admin("POST", "/admin/sessions/s/resume")
    assert visitors.entry_of(stream, "s")["sub"] == "me"
    # A user who was let in and comes back without the ticket gets the same entry while rejoin is keep …
    support.wait_until(lambda: client.zcard("session:{s}:outbox") == 0, what="an empty outbox")
    refused(gateway, client, "GET", STREAM + "s", 409, "already-entered", headers=mine)
    admin("PATCH", "/admin/sessions/s", {"rejoin": "keep"})
    assert visitors.entry_of(visit(gateway, headers=mine), "s")["sub"] == "me"


def test_event_streams_are_told_in_a_way_browsers_understand(sessions, gateway, visit):
    for session, code in (("nobody", "unknown-session"), ("closed", "closed")):
        stream = visit(gateway, session)
        refusal = stream.wait_event("refused")
        stream.wait_end()
        assert stream.status == 200 and refusal["id"] == ".e" and refusal["data"]["code"] == code and stream.retry is None
    stream = visit(gateway, "later")
    assert stream.wait_event("unavailable")["data"]["code"] == "not-started"
    stream.wait_end()
    assert stream.status == 200 and stream.retry >= 5000 and "id" not in stream.named("unavailable")[0]
    bad = visit(gateway, "a%20b")
    bad.wait(lambda: bad.status)
    assert bad.status == 400


def test_too_many_connections(sessions, start_gateway, visit, client):
    gateway = start_gateway(connections_max=3)
    streams = [visit(gateway) for _ in range(3)]
    for stream in streams:
        stream.wait_event("waiting-state")
    support.wait_until(lambda: client.hmget("session:{s}:state", "dirty")[0] == "0", what="a settled line")
    refused(gateway, client, "GET", STREAM + "s", 503, "too-many-connections")
    over = visit(gateway)
    assert over.wait_event("unavailable")["data"]["code"] == "too-many-connections"
    assert 5000 <= over.retry <= 30000


def test_without_redis_joins_are_told_to_come_back(sessions, gateway, visit, redis_server):
    waiting = visit(gateway)
    waiting.wait_event("waiting-state")
    redis_server.kill()
    gateway.wait_log("redis-down", connection="commands")
    answer = requests.get(gateway.url("public") + STREAM + "s", timeout=10)
    assert answer.status_code == 503 and answer.json()["code"] == "unavailable"
    stream = visit(gateway)
    assert stream.wait_event("unavailable")["data"]["code"] == "unavailable"
    assert not waiting.ended
    assert requests.get(gateway.url("public") + "/readyz", timeout=5).json()["redis"] == "down"
    redis_server.start()


def test_draining_sends_newcomers_elsewhere(sessions, start_gateway, client):
    gateway = start_gateway(drain_notice_s=30)
    gateway.signal(15)
    gateway.wait_log("drain", phase="notice")
    answer = refused(gateway, client, "GET", STREAM + "s", 503, "draining")
    assert answer.headers["Connection"] == "close"
    assert requests.get(gateway.url("public") + "/readyz", timeout=5).status_code == 503
    gateway.signal(15)


def test_the_problem_types_have_pages(gateway):
    for code in ("bad-session", "sold-out", "draining"):
        page = requests.get(gateway.url("public") + f"/problems/{code}", timeout=5)
        assert page.status_code == 200 and page.headers["Content-Type"].startswith("text/plain")
