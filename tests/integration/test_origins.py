"""Foreign pages: each attack as a browser would carry it out for them, with the visitor's cookies where it sends them."""

import pytest
import requests

import support

PUBLIC = "https://queue.example.com"
SHOP = "https://shop.example.com"
FOREIGN = {
    "another site": {"Origin": "https://evil.example", "Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "cors"},
    "a same-site sibling": {"Origin": "https://evil.example.com", "Sec-Fetch-Site": "same-site", "Sec-Fetch-Mode": "cors"},
    "a sibling without CORS": {"Sec-Fetch-Site": "same-site", "Sec-Fetch-Mode": "no-cors"},
    "an image of another site": {"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "no-cors"},
    "an old browser": {"Origin": "https://evil.example"},
    "a sandboxed frame": {"Origin": "null", "Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "cors"},
    "a file or a redirect": {"Origin": "null"},
    "a form": {"Origin": "https://evil.example", "Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "navigate",
               "Content-Type": "application/x-www-form-urlencoded"},
    "a sandboxed form": {"Origin": "null", "Sec-Fetch-Mode": "navigate", "Content-Type": "text/plain"},
    "a name that ends in ours": {"Origin": "https://evilqueue.example.com"},
    "a name that begins with ours": {"Origin": PUBLIC + ".evil.example"},
    "our name at another port": {"Origin": PUBLIC + ":8443"},
    "our name without TLS": {"Origin": PUBLIC.replace("https", "http"), "Host": "queue.example.com", "Sec-Fetch-Site": "cross-site"},
    "an allowed name without TLS": {"Origin": SHOP.replace("https", "http")},
    "an allowed name with a path": {"Origin": SHOP + "/"},
    "an empty origin": {"Origin": ""},
}


@pytest.fixture
def gateway(start_gateway):
    return start_gateway(public_url=PUBLIC, allow_origins=f"{SHOP}, https://app.example.com:8443", join_limit="1000/10")


def ask(gateway, method, path, headers=None, **options):
    return requests.request(method, f"{gateway.url('public')}{path}", headers=headers, timeout=10, allow_redirects=False, **options)


@pytest.fixture
def victim(admin, gateway):
    """Somebody who waits, and the cookie in that browser."""
    admin.create("s", status="paused")
    joined = ask(gateway, "POST", "/api/queue/join?sessionId=s", {"Origin": PUBLIC, "Sec-Fetch-Site": "same-origin"})
    assert joined.status_code == 200
    return {"ticket": joined.json()["ticket"], "cookie": {"Cookie": f"__Host-anteroom_ticket_s={joined.json()['ticket']}"}}


@pytest.mark.parametrize("attack", FOREIGN)
def test_a_foreign_page_gets_nothing_and_changes_nothing(gateway, victim, client, attack):
    headers = {**FOREIGN[attack], **victim["cookie"], "Accept": "text/event-stream"}
    support.wait_until(lambda: client.hget("session:{s}:state", "dirty") == "0", what="a settled line")
    before = support.dump(client)
    paths = [("POST", "/api/queue/join?sessionId=s"), ("POST", "/api/queue/leave?sessionId=s"), ("POST", f"/api/queue/leave?ticket={victim['ticket']}")]
    if headers.get("Sec-Fetch-Mode") != "navigate":
        paths += [("GET", "/api/queue/stream?sessionId=s"), ("GET", "/api/queue/status?sessionId=s"), ("OPTIONS", "/api/queue/stream"),
                  ("OPTIONS", "/api/queue/join")]
    for method, path in paths:
        answer = ask(gateway, method, path, headers)
        assert (answer.status_code, answer.json()["code"]) == (403, "origin-refused"), (method, path)
        assert answer.headers["Vary"] == "Origin" and not [name for name in answer.headers if name.startswith("Access-Control")]
        assert "Set-Cookie" not in answer.headers and answer.headers["Cache-Control"] == "no-store"
    assert support.dump(client) == before


def test_our_own_pages_and_what_is_no_browser_may(gateway, victim):
    for headers in ({"Origin": PUBLIC, "Sec-Fetch-Site": "same-origin"}, {"Sec-Fetch-Site": "same-origin", "Sec-Fetch-Mode": "cors"}, {},
                    {"Origin": "https://other.example:7", "Host": "other.example:7", "Sec-Fetch-Site": "same-origin"}):
        answer = ask(gateway, "POST", "/api/queue/join?sessionId=s", {**headers, **victim["cookie"]})
        assert answer.status_code == 200 and answer.json()["position"] == 1
        assert not [name for name in answer.headers if name.startswith("Access-Control")]


def test_allowed_origins_may_read_the_answers(gateway, victim, visit, client):
    for origin in (SHOP, "https://app.example.com:8443"):
        for method, path, status in (("POST", "/api/queue/join?sessionId=s", 200), ("GET", f"/api/queue/status?ticket={victim['ticket']}", 200),
                                     ("POST", "/api/queue/join?sessionId=nobody", 404), ("POST", "/api/queue/leave?ticket=x", 400)):
            answer = ask(gateway, method, path, {"Origin": origin, "Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "cors"})
            assert answer.status_code == status
            assert answer.headers["Access-Control-Allow-Origin"] == origin and answer.headers["Vary"] == "Origin"
            assert answer.headers["Access-Control-Allow-Credentials"] == "true"
            assert answer.headers["Access-Control-Expose-Headers"] == "Retry-After"
        for path in ("stream", "join", "status", "leave"):
            preflight = ask(gateway, "OPTIONS", f"/api/queue/{path}", {
                "Origin": origin, "Access-Control-Request-Method": "POST", "Access-Control-Request-Headers": "x-anteroom-ticket"})
            assert preflight.status_code == 204 and preflight.headers["Access-Control-Max-Age"] == "600"
            assert preflight.headers["Access-Control-Allow-Origin"] == origin and preflight.headers["Vary"] == "Origin"
            assert "X-Anteroom-Ticket" in preflight.headers["Access-Control-Allow-Headers"]
    stream = visit(gateway, headers={"Origin": SHOP, "Sec-Fetch-Site": "cross-site"})
    stream.wait_event("waiting-state")
    assert stream.headers["access-control-allow-origin"] == SHOP and stream.headers["vary"] == "Origin"


@pytest.mark.parametrize("site", ("none", "same-origin", "cross-site"))
def test_the_api_opened_in_a_tab_leads_to_the_waiting_page(gateway, victim, client, site):
    support.wait_until(lambda: client.hget("session:{s}:state", "dirty") == "0", what="a settled line")
    before = support.dump(client)
    headers = {"Sec-Fetch-Mode": "navigate", "Sec-Fetch-Site": site, "Sec-Fetch-Dest": "document", **victim["cookie"]}
    for path in ("stream?sessionId=s", f"stream?sessionId=s&ticket={victim['ticket']}", "status?sessionId=s"):
        answer = ask(gateway, "GET", f"/api/queue/{path}", headers)
        assert (answer.status_code, answer.headers["Location"]) == (303, "/room/s") and "Set-Cookie" not in answer.headers
    for path in ("stream", "stream?sessionId=//evil.example", "status?ticket=x", "stream?sessionId=s%0d%0aX:y"):
        answer = ask(gateway, "GET", f"/api/queue/{path}", headers)
        assert answer.status_code == 400 and "Location" not in answer.headers
    assert support.dump(client) == before


def test_a_cookie_from_a_sibling_subdomain_is_not_believed(gateway, victim, client):
    """It can set a cookie for the whole domain, but none with __Host- (which browsers keep to the host that set it)."""
    attackers = ask(gateway, "POST", "/api/queue/join?sessionId=s").json()["ticket"]
    before = client.zcard("session:{s}:waiting")
    injected = ask(gateway, "POST", "/api/queue/join?sessionId=s", {"Cookie": f"anteroom_ticket_s={attackers}"})
    assert injected.json()["position"] == before + 1  # a newcomer
    both = ask(gateway, "POST", "/api/queue/join?sessionId=s", {"Cookie": f"anteroom_ticket_s={attackers}; {victim['cookie']['Cookie']}"})
    assert both.json()["position"] == 1
    cookie = both.headers["Set-Cookie"]
    assert cookie.startswith("__Host-anteroom_ticket_s=") and cookie.endswith("; Path=/; HttpOnly; SameSite=Lax; Secure")
    lower = ask(gateway, "POST", "/api/queue/join?sessionId=s", {"Cookie": f"__host-anteroom_ticket_s={attackers}"})
    assert lower.json()["position"] == client.zcard("session:{s}:waiting")


def test_on_plain_http_the_cookie_has_no_prefix(admin, start_gateway):
    admin.create("s", status="paused")
    answer = ask(start_gateway("gw-2"), "POST", "/api/queue/join?sessionId=s")
    assert answer.headers["Set-Cookie"].startswith("anteroom_ticket_s=") and answer.headers["Set-Cookie"].endswith("; Path=/; HttpOnly; SameSite=Lax")


def test_head_never_joins(gateway, victim, client):
    support.wait_until(lambda: client.hget("session:{s}:state", "dirty") == "0", what="a settled line")
    before = support.dump(client)
    for path in ("stream?sessionId=s", "join?sessionId=s", f"status?ticket={victim['ticket']}", f"leave?ticket={victim['ticket']}"):
        for headers in ({}, victim["cookie"], {"Sec-Fetch-Mode": "navigate"}):
            answer = ask(gateway, "HEAD", f"/api/queue/{path}", headers)
            assert answer.status_code == 405 and answer.headers["Allow"] and "Set-Cookie" not in answer.headers
    assert support.dump(client) == before


def test_every_answer_varies_by_origin(gateway, victim):
    for method, path in (("GET", "/room/s"), ("GET", "/waitroom.js"), ("GET", "/room.css"), ("GET", "/healthz"), ("GET", "/readyz"), ("GET", "/nothing"),
                         ("GET", "/problems/closed"), ("DELETE", "/api/queue/stream"), ("GET", "/api/queue/info?sessionId=s"),
                         ("GET", "/api/queue/verify?sessionId=s"), ("GET", "/.well-known/jwks.json"), ("GET", "/room/a%20b")):
        for headers in ({}, {"Origin": SHOP}, {"Origin": "https://evil.example"}):
            assert ask(gateway, method, path, headers).headers["Vary"] == "Origin", (method, path)
