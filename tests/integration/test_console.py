"""The operator's console: its event stream, who may read it, what it costs, and the page."""

import os
import re
import signal
import socket
import threading

import pytest
import requests

import page
import support
import visitors
from support import ADMIN_TOKEN, READ_TOKEN, Admin, metric, wait_until


class Console(visitors.Stream):
    """GET /admin/events, read as the page does."""

    def __init__(self, url, token=READ_TOKEN, sessions=None, receive_bytes=None, read=True):
        host, port = url.removeprefix("http://").split(":")
        self.events, self.comments = [], 0
        self.status, self.headers, self.ended, self.retry, self.last_id = None, {}, False, None, None
        self._more = threading.Condition()
        self._socket = socket.socket()
        if receive_bytes:
            self._socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, receive_bytes)
        self._socket.settimeout(60)
        self._socket.connect((host, int(port)))
        query = f"?sessions={','.join(sessions)}" if sessions is not None else ""
        self._socket.sendall(f"GET /admin/events{query} HTTP/1.1\r\nHost: {host}\r\nAuthorization: Bearer {token}\r\n\r\n".encode())
        self._thread = threading.Thread(target=self._read, daemon=True)
        if read:
            self._thread.start()

    def told(self, session):
        """The items that came of SESSION, the newest last."""
        return [event["data"] for event in self.named("session") if event["data"]["sessionId"] == session]

    def wait_told(self, session, condition=lambda item: True, timeout=10.0):
        return self.wait(lambda: [item for item in self.told(session) if condition(item)], timeout, f"{session} as wanted")[-1]

    def wait_gone(self, session, reason="deleted", timeout=10.0):
        data = {"sessionId": session, "reason": reason}
        return self.wait(lambda: [event for event in self.named("gone") if event["data"] == data], timeout, f"{data}")

    def close(self):
        if self._thread.ident:
            super().close()
        self._socket.close()


@pytest.fixture
def look():
    """Opens consoles' streams; all are closed at the end."""
    opened = []

    def open_stream(publisher, **options):
        opened.append(Console(publisher.url("admin"), **options))
        return opened[-1]

    yield open_stream
    for console in opened:
        console.close()


def code(answer):
    return answer.status_code, answer.json()["code"]


def looks(client):
    """How often anybody has looked at a session: the commands that only a look sends."""
    return int(client.info("commandstats").get("cmdstat_hgetall", {}).get("calls", 0))


def make_sessions(client, scripts, names):
    """As configure writes them; what is made this way costs no audit and no tick."""
    pipe = client.pipeline(transaction=False)
    for name in names:
        pipe.sadd("sessions", name)
        pipe.hset(scripts.key(name, "config"), mapping={"batch": 1, "intervalMs": 60000, "version": 1})
        pipe.hset(scripts.key(name, "state"), mapping={"epoch": 1, "phase": "open", "tail": 0, "head": 0, "base": 0, "rev": 1})
    pipe.execute()


# ---- who may ----

def test_a_token_is_needed_and_a_reading_one_will_do(publisher, admin, look):
    url = publisher.url("admin") + "/admin/events"
    assert code(requests.get(url, timeout=5)) == (401, "unauthorized")
    assert code(requests.get(url, headers={"Authorization": "Bearer not-a-token-0123456789"}, timeout=5)) == (401, "unauthorized")
    assert code(requests.get(f"{url}?token={ADMIN_TOKEN}", timeout=5)) == (401, "unauthorized")
    assert code(admin("GET", f"/admin/events?access_token={ADMIN_TOKEN}")) == (400, "bad-request")
    assert admin("HEAD", "/admin/events").status_code == 405 and admin("POST", "/admin/events", {}).status_code == 405
    for token, actor, read_only in ((READ_TOKEN, "bob", True), (ADMIN_TOKEN, "alice", False)):
        console = look(publisher, token=token)
        hello = console.wait_event("hello")["data"]
        assert (hello["actor"], hello["readOnly"]) == (actor, read_only)
        assert re.fullmatch(r"\d+\.\d+\.\d+", hello["version"]) and hello["now"].endswith("Z")
        assert console.headers["content-type"].startswith("text/event-stream") and console.headers["cache-control"] == "no-store"
        publisher.wait_log("console-came", actor=actor)
    assert ADMIN_TOKEN not in publisher.text() and READ_TOKEN not in publisher.text()


def test_a_token_that_was_taken_away_ends_its_streams_and_no_others(publisher, folder, look):
    bob, alice = look(publisher), look(publisher, token=ADMIN_TOKEN)
    bob.wait_event("servers")
    alice.wait_event("servers")
    folder.write("tokens", f"alice {ADMIN_TOKEN}\n")
    publisher.signal(signal.SIGHUP)
    bob.wait_end()
    publisher.wait_log("console-left", actor="bob")
    assert not alice.ended and not publisher.logged("console-left", actor="alice")
    again = look(publisher)
    again.wait_end()
    assert again.status == 401


def test_a_token_that_may_do_less_now_ends_its_streams(publisher, folder, look):
    alice = look(publisher, token=ADMIN_TOKEN)
    alice.wait_event("hello")
    folder.write("tokens", f"alice {ADMIN_TOKEN} read\n")
    publisher.signal(signal.SIGHUP)
    alice.wait_end()
    assert look(publisher, token=ADMIN_TOKEN).wait_event("hello")["data"]["readOnly"] is True


def test_a_token_file_that_makes_no_sense_ends_nothing(publisher, folder, look):
    bob = look(publisher)
    bob.wait_event("hello")
    folder.write("tokens", "too short\n")
    publisher.signal(signal.SIGHUP)
    publisher.wait_log("keys-kept")
    assert not bob.ended


# ---- what is told ----

def test_the_first_picture_is_what_get_shows(publisher, admin, gateways, look):
    for name in ("a", "b", "c"):
        admin.create(name, status="paused")
    wait_until(lambda: all(admin.live(name)["owner"] for name in "abc"), what="owners")
    gateway = gateways("gw-1")
    console = look(publisher)
    for name in ("a", "b", "c"):
        shown = admin("GET", f"/admin/sessions/{name}").json()
        console.wait_told(name, lambda item, shown=shown: item == shown)
    servers = console.wait(lambda: [event for event in console.named("servers") if event["data"]["items"]], what="servers")[0]["data"]
    listed = admin("GET", "/admin/servers").json()["items"]
    assert servers["more"] == 0 and [set(item) for item in servers["items"]] == [set(item) for item in listed]
    assert servers["items"][0]["server"] == gateway.name
    assert console.named("redis")[0]["data"] == {"up": True}


def test_changes_come_within_two_seconds(publisher, admin, scripts, look):
    admin.create("a", status="paused")
    console = look(publisher, sessions=["a"])
    console.wait_told("a")
    admin("PATCH", "/admin/sessions/a", {"batch": 77})
    console.wait_told("a", lambda item: item["batch"] == 77 and item["version"] == 2, timeout=2)
    scripts.join("a")
    console.wait_told("a", lambda item: item["live"]["waiting"] == 1 and item["live"]["held"] == "paused", timeout=2)
    admin("POST", "/admin/sessions/a/announce", {"message": 'A "word"\\ 안녕'})
    assert console.wait_told("a", lambda item: item["live"]["notice"], timeout=2)["live"]["notice"] == 'A "word"\\ 안녕'


def test_nothing_is_told_while_nothing_changes(publisher, admin, client, look):
    for name in ("a", "b"):
        admin.create(name)
    wait_until(lambda: admin.live("a")["owner"] and admin.live("b")["owner"], what="owners")
    consoles = [look(publisher), look(publisher, sessions=["a", "b", "nobody"])]
    for console in consoles:
        console.wait(lambda console=console: console.told("a") and console.told("b") and console.named("servers"), what="the picture")
    consoles[1].wait_gone("nobody")
    told, before = [len(console.events) for console in consoles], looks(client)
    wait_until(lambda: looks(client) >= before + 3 * 4, what="four more looks at all three")
    assert [len(console.events) for console in consoles] == told


def test_silence_is_filled_with_comments(publisher, look):
    console = look(publisher)
    console.wait_event("servers")
    console.wait(lambda: console.comments >= 1, timeout=25, what="a comment")
    assert not console.ended


def test_a_deleted_session_is_gone_and_a_new_one_comes(publisher, admin, look):
    admin.create("a")
    first, named = look(publisher), look(publisher, sessions=["a", "later"])
    for console in (first, named):
        console.wait_told("a")
    named.wait_gone("later")
    assert admin("DELETE", "/admin/sessions/a").status_code == 204
    for console in (first, named):
        console.wait_gone("a", timeout=3)
    admin.create("later")
    named.wait_told("later", timeout=2)
    first.wait_told("later", timeout=6)  # it comes by the doorbell, or by the catalog's next look
    assert len(named.named("gone")) == 2 and len(first.named("gone")) == 1


def test_without_a_list_the_first_hundred_are_shown(publisher, admin, client, scripts, look):
    names = [f"s{number:03d}" for number in range(105)]
    make_sessions(client, scripts, names)
    console = look(publisher)
    console.wait(lambda: {event["data"]["sessionId"] for event in console.named("session")} == set(names[:100]), what="the first hundred")
    admin.create("a-new-one")
    console.wait_told("a-new-one")
    console.wait_gone("s099", "beyond")
    assert admin("DELETE", "/admin/sessions/s000").status_code == 204
    console.wait_gone("s000")
    console.wait(lambda: len(console.told("s099")) >= 2, what="the one that came back")
    assert not console.told("s100")


def test_the_load_the_cap_and_the_wait_of_the_last_are_told(publisher, admin, client, scripts, look):
    client.set("shop:tps", 300)
    admin.create("s", batch=10, intervalMs=200, adaptive={"minTps": 100, "maxTps": 500, "minCount": 0, "maxCount": 50, "onMissing": "hold", "loadKey": "shop:tps"})
    for _ in range(400):
        scripts.join("s")
    console = look(publisher, sessions=["s"])
    live = console.wait_told("s", lambda item: item["live"]["etaSeconds"] is not None)["live"]
    assert (live["loadTps"], live["cap"]) == (300, 25) and live["etaSeconds"] >= 1
    client.delete("shop:tps")
    live = console.wait_told("s", lambda item: item["live"]["held"] == "load-missing")["live"]
    assert (live["loadTps"], live["cap"]) == (None, 0)
    admin("PATCH", "/admin/sessions/s", {"adaptive": None, "status": "paused"})
    live = console.wait_told("s", lambda item: item["live"]["held"] == "paused")["live"]
    assert (live["loadTps"], live["cap"], live["etaSeconds"]) == (None, None, None)


def test_redis_away_is_told_and_what_was_known_stays(publisher, admin, redis_server, look):
    admin.create("a")
    console = look(publisher, sessions=["a"])
    console.wait_told("a")
    redis_server.kill()
    console.wait(lambda: console.named("redis")[-1]["data"] == {"up": False}, what="Redis down")
    assert not console.ended and not console.named("gone")
    redis_server.start()
    console.wait(lambda: console.named("redis")[-1]["data"] == {"up": True}, what="Redis up")
    # It came back empty: the publisher opens the session again.
    console.wait(lambda: console.named("session")[-1]["data"]["live"]["phase"] == "restoring", what="the session, opened again")
    assert not console.named("gone")


def test_a_publisher_that_stops_ends_its_streams(publisher, look):
    consoles = [look(publisher) for _ in range(3)]
    for console in consoles:
        console.wait_event("servers")
    publisher.stop()
    for console in consoles:
        console.wait_end()


# ---- limits ----

@pytest.mark.parametrize("query", ["sessions=", "sessions=a,,b", "sessions=a,", "sessions=a,a", "sessions=a%2Cb%20", "sessions=a/b", "sessions=" + "x" * 65,
                                   "sessions=a&sessions=b", "session=a", "sessions=a%00", "limit=5", "sessions=" + ",".join(f"s{n}" for n in range(101)),
                                   "sessions=" + ",".join(f"{n:064d}" for n in range(101))])
def test_a_list_that_makes_no_sense_is_refused(admin, query):
    assert code(admin("GET", f"/admin/events?{query}")) == (400, "bad-request")


def test_a_hundred_sessions_of_the_longest_names_may_be_named(publisher, client, scripts, look):
    names = [f"{number:064d}" for number in range(100)]
    make_sessions(client, scripts, names)
    console = look(publisher, sessions=names)
    console.wait(lambda: {event["data"]["sessionId"] for event in console.named("session")} == set(names), what="all hundred")


def test_the_thirty_third_console_is_turned_away(publisher, admin, look):
    consoles = [look(publisher) for _ in range(32)]
    for console in consoles:
        console.wait_event("hello")
    answer = admin("GET", "/admin/events")
    assert code(answer) == (503, "too-many-connections") and answer.headers["Retry-After"] == "5"
    assert admin("GET", "/admin/sessions").status_code == 200
    consoles[0].close()
    publisher.wait_log("console-left")
    look(publisher).wait_event("hello")


def test_a_slow_reader_is_dropped_and_hinders_nobody(start_publisher, client, scripts, look, monkeypatch):
    # ASan keeps what was freed; here memory is measured.
    monkeypatch.setenv("ASAN_OPTIONS", os.environ.get("ASAN_OPTIONS", "") + ":quarantine_size_mb=1")
    publisher = start_publisher()
    names = [f"s{number:02d}" for number in range(100)]
    make_sessions(client, scripts, names)
    slow = look(publisher, receive_bytes=4096, read=False, token=ADMIN_TOKEN)
    quick = look(publisher)
    publisher.wait_log("console-came", actor="alice")

    def change(number):
        pipe = client.pipeline(transaction=False)
        for name in names:
            pipe.hset(scripts.key(name, "state"), "notice", f"{number} " + "x" * 900)
        pipe.execute()

    before = metric(publisher, "process_resident_memory_bytes")
    for number in range(60):
        change(number)
        quick.wait_told("s99", lambda item, number=number: (item["live"]["notice"] or "").startswith(f"{number} "))
        if publisher.logged("console-left", actor="alice"):
            break
    assert publisher.logged("console-left", actor="alice") and not publisher.logged("console-left", actor="bob")
    assert not quick.ended and slow.status is None
    assert metric(publisher, "process_resident_memory_bytes") - before < 32 << 20


def test_what_consoles_cost_redis_has_a_bound(start_publisher, client, scripts, look):
    """3,200 sessions, 32 consoles: first all look at the same hundred, then each at a hundred of its own."""
    names = [f"session-{number:05d}" for number in range(3200)]
    make_sessions(client, scripts, names)
    publisher = start_publisher(tick_ms=60000, lease_ms=600000)
    wait_until(lambda: metric(publisher, "anteroom_tick_duration_seconds_count") >= 3200, timeout=60, what="the first tick of each")
    wait_until(lambda: metric(publisher, "anteroom_redis_commands_total", command="keep") >= 3200, timeout=60, what="each to be kept")

    def cost():
        """Looks at sessions a second, over five seconds of Redis' clock."""
        begun, count = client.time(), looks(client)
        wait_until(lambda: client.time()[0] >= begun[0] + 5, what="five seconds")
        ended = client.time()
        return (looks(client) - count) / (ended[0] - begun[0] + (ended[1] - begun[1]) / 1e6)

    same = [look(publisher) for _ in range(32)]
    for console in same:
        console.wait(lambda console=console: len(console.named("session")) >= 100, what="the first hundred")
    shared = cost()
    assert 50 < shared <= 120
    for console in same:
        console.close()
    wait_until(lambda: len(publisher.logged("console-left")) == 32, what="all gone")
    own = [look(publisher, sessions=names[100 * number:100 * number + 100]) for number in range(32)]
    for console in own:
        console.wait(lambda console=console: len(console.named("session")) >= 100, timeout=40, what="a hundred of its own")
    apart = cost()
    assert 200 < apart <= 360  # 300 a second, and what a second's edge adds
    print(f"looks a second: {shared:.0f} for one hundred, {apart:.0f} for 3,200")


# ---- the page ----

FILES = {"/": ("console.html", "text/html"), "/console.js": ("console.js", "text/javascript"), "/console.css": ("console.css", "text/css")}


def built_in(name):
    return (support.ROOT / "publisher" / "web" / name).read_bytes()


def test_the_page_is_built_in_and_may_load_nothing_else(publisher):
    for path, (name, kind) in FILES.items():
        answer = requests.get(publisher.url("admin") + path, timeout=5)  # no token: there is nothing secret in it
        assert answer.status_code == 200 and answer.content == built_in(name)
        assert answer.headers["Content-Type"] == f"{kind}; charset=utf-8" and answer.headers["Cache-Control"] == "no-cache"
        policy = dict(part.strip().split(" ", 1) for part in answer.headers["Content-Security-Policy"].split(";"))
        assert policy == {"default-src": "'none'", "script-src": "'self'", "style-src": "'self'", "connect-src": "'self'", "img-src": "data:",
                          "base-uri": "'none'", "form-action": "'none'", "frame-ancestors": "'none'", "require-trusted-types-for": "'script'",
                          "trusted-types": "'none'"}
        assert answer.headers["Referrer-Policy"] == "no-referrer" and answer.headers["X-Content-Type-Options"] == "nosniff"
        assert "Set-Cookie" not in answer.headers and "Access-Control-Allow-Origin" not in answer.headers
    for path in ("/console.html", "/index.html", "/console.js/", "/web/console.js", "/favicon.ico"):
        assert requests.get(publisher.url("admin") + path, timeout=5).status_code in (400, 404), path


def test_the_page_holds_no_inline_script_and_no_address():
    page = built_in("console.html").decode()
    assert re.findall(r"<script[^>]*>", page) == ['<script src="/console.js" defer>'] and "style=" not in page
    assert not re.search(r"\son\w+\s*=", page) and "javascript:" not in page
    for name in ("console.html", "console.js", "console.css"):
        addresses = set(re.findall(r"(?:https?:)?//[\w.-]+\.\w+[^\s'\"]*", built_in(name).decode()))
        assert addresses <= {"http://www.w3.org/2000/svg"}, (name, addresses)
    script = built_in("console.js").decode()
    assert not re.search(r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|\beval\b|new Function|localStorage|document\.cookie", script)


needs_chromium = pytest.mark.skipif(not page.CHROMIUM, reason="chromium is not installed")
OPEN = "await until('the first session', () => at('rows').children.length > 0);"
PICK = "const pick = (id) => [...document.querySelectorAll('#rows button')].find((b) => b.textContent === id).click();"


@pytest.fixture
def browse(publisher, tmp_path):
    """Runs steps in the page; gives what they said and the requests' targets. No error, no violation of the policy."""

    def run(steps, token=ADMIN_TOKEN):
        browser = page.Browser(publisher.url("admin"), steps, tmp_path, token=token)
        try:
            told = browser.run()
        finally:
            browser.close()
        assert "error" not in told and "violation" not in told, told
        assert not [target for target in browser.targets if ADMIN_TOKEN in target or READ_TOKEN in target]
        assert ADMIN_TOKEN not in browser.dom and READ_TOKEN not in browser.dom
        return {name: values[-1] for name, values in told.items()}, browser.targets

    return run


@needs_chromium
def test_the_page_says_what_holds_each_line(admin, client, scripts, gateways, browse):
    gateways("gw-1")
    client.set("busy:tps", 1000)
    adaptive = {"minTps": 100, "maxTps": 500, "minCount": 0, "maxCount": 50, "onMissing": "hold"}
    states = {"active": ({"activeLimit": 1, "batch": 1}, "Held: site is full"), "busy": ({"adaptive": {**adaptive, "loadKey": "busy:tps"}}, "Held: site is busy"),
              "closed": ({"status": "closed"}, "Closed"), "later": ({"startsAt": "2040-01-01T00:00:00Z"}, "Opens in"),
              "missing": ({"adaptive": {**adaptive, "loadKey": "no:tps"}}, "Held: no load"), "moving": ({"batch": 1, "intervalMs": 1000}, "Letting in"),
              "nobody": ({}, "Nobody waits"), "paused": ({"status": "paused"}, "Paused"), "sold": ({"stock": 1}, "Sold out"), "past": ({"endsAt": "2020-01-01T00:00:00Z"}, "Ended")}
    for name, (config, _) in states.items():
        admin.create(name, **config)
    for name, count in (("active", 3), ("busy", 2), ("missing", 2), ("moving", 500), ("paused", 4), ("sold", 1)):
        for _ in range(count):
            scripts.join(name)
    words = {name: word for name, (_, word) in states.items()}
    told, _ = browse(PICK + f"""
        const words = () => Object.fromEntries([...at('rows').children].map((row) => [row.querySelector('button').textContent, row.querySelector('.pill').textContent]));
        const wanted = {words};
        await until('the words', () => Object.keys(wanted).every((id) => words()[id].startsWith(wanted[id])));
        said('verdict', text('verdict-word')); said('links', text('verdict-links'));
        pick('missing'); said('why', text('d-why')); said('server', text('server-rows'));
    """)
    assert re.fullmatch(r"10 people wait and nobody is let in", told["verdict"]), told
    assert "paused: Paused" in told["links"] and "missing: Held: no load" in told["links"] and "no:tps" in told["why"] and "gw-1" in told["server"]


@needs_chromium
def test_an_operator_pauses_changes_announces_and_clears(admin, client, scripts, publisher, browse):
    admin.create("s", batch=1, intervalMs=60000, virtual=True, status="paused")
    for _ in range(5):
        scripts.join("s")
    told, targets = browse(OPEN + """
        at('resume').click(); await until('open', () => text('verb-said') === 'Open.' && !at('pause').hidden);
        at('pause').click(); await until('paused', () => text('verb-said') === 'Paused.');
        type('batch', '0'); at('pace').requestSubmit(); await until('a field error', () => text('e-batch'));
        said('field', text('e-batch')); said('invalid', at('batch').getAttribute('aria-invalid'));
        type('batch', '7'); type('stock', '100'); at('pace').requestSubmit(); await until('saved', () => text('pace-said') === 'Saved.');
        type('message', 'Back <b>soon</b>'); at('announce').requestSubmit(); await until('told', () => text('d-notice').includes('Back <b>soon</b>'));
        type('count', '0'); at('crowd').requestSubmit(); await until('a crowd error', () => text('e-count'));
        type('count', '3'); at('crowd').requestSubmit(); await until('a crowd', () => text('crowd-said').includes('on its way'));
        await until('eight', () => text('f-waiting') === '7' || text('f-waiting') === '8');
        at('clear').click(); said('before', at('sure-yes').disabled);
        type('sure-id', 'S'); said('wrong', at('sure-yes').disabled);
        type('sure-id', 's'); at('sure-form').requestSubmit(); await until('cleared', () => text('verb-said') === 'Cleared.');
        await until('an empty line', () => text('f-waiting') === '0');
    """)
    assert "whole number from 1 to" in told["field"] and told["invalid"] == "true" and told["before"] is True and told["wrong"] is True
    shown = admin("GET", "/admin/sessions/s").json()
    assert (shown["batch"], shown["stock"], shown["status"], shown["live"]["notice"]) == (7, 100, "paused", "Back <b>soon</b>")
    actions = [entry["action"] for _, entry in client.xrange(scripts.key("s", "audit"))]
    assert actions == ["create", "resume", "pause", "patch", "announce", "crowd", "clear"]
    assert {target.split("?")[0] for target in targets} <= {"/", "/console.js", "/console.css", "/admin/events"} | {
        f"/admin/sessions/s{rest}" for rest in ("", "/resume", "/pause", "/announce", "/crowd", "/clear")}


@needs_chromium
def test_two_operators_do_not_overwrite_each_other(admin, browse):
    admin.create("s", batch=1, status="paused")
    change = f"fetch('/admin/sessions/s', {{method: 'PATCH', headers: {{Authorization: 'Bearer {ADMIN_TOKEN}', 'Content-Type': 'application/json'}}, body: '{{\"batch\":50}}'}})"
    told, _ = browse(OPEN + f"""
        type('batch', '7'); await {change}; at('pace').requestSubmit();
        await until('the conflict', () => text('pace-said').includes('Somebody else changed'));
        await until('the other value', () => text('e-batch') === 'is 50 now');
        said('typed', at('batch').value);
        at('pace').requestSubmit(); await until('saved', () => text('pace-said') === 'Saved.');
    """)
    assert told["typed"] == "7" and admin("GET", "/admin/sessions/s").json()["batch"] == 7


@needs_chromium
def test_a_reading_token_sees_everything_and_no_buttons(admin, browse):
    admin.create("s", virtual=True)
    told, _ = browse(OPEN + "await until('a detail', () => !at('detail').hidden); said('changes', at('changes').hidden); said('who', text('who'));", token=READ_TOKEN)
    assert told["changes"] is True and "bob (may only read)" in told["who"]


@needs_chromium
def test_a_token_is_typed_in_kept_in_the_tab_and_thrown_away_when_it_is_none(admin, browse):
    admin.create("s")
    told, _ = browse(f"""
        await until('the form', () => !at('enter').hidden);
        at('token').value = 'not-a-token-0123456789'; at('enter').requestSubmit();
        await until('the refusal', () => text('enter-error')); said('refusal', text('enter-error')); said('kept', sessionStorage.length);
        at('token').value = {ADMIN_TOKEN!r}; at('enter').requestSubmit();
        {OPEN} said('kept after', sessionStorage.length + localStorage.length + document.cookie.length); said('field', at('token').value);
        at('leave').click(); await until('the form again', () => !at('enter').hidden); said('kept at last', sessionStorage.length); said('rows', at('rows').children.length);
    """, token=None)
    assert "not in the admin token file" in told["refusal"] and told["kept"] == 0 and told["kept after"] == 1 and told["field"] == ""
    assert told["kept at last"] == 0 and told["rows"] == 0


@needs_chromium
def test_pages_and_search_over_many_sessions(client, scripts, publisher, browse):
    names = [f"s{number:03d}" for number in range(250)]
    make_sessions(client, scripts, names)
    told, _ = browse("""
        const ids = () => [...document.querySelectorAll('#rows button')].map((b) => b.textContent);
        await until('the first page', () => ids().length === 100 && !at('on').disabled); said('first', ids());
        at('on').click(); await until('the second', () => ids().length === 100 && ids()[0] === 's100' && !at('on').disabled);
        at('on').click(); await until('the third', () => ids().length === 50 && at('on').disabled); said('third', ids());
        at('back').click(); await until('the second again', () => ids().length === 100 && ids()[0] === 's100');
        type('search', 's24'); await until('ten', () => ids().length === 10); said('found', ids());
        type('search', 's249'); await until('one', () => ids().length === 1 && ids()[0] === 's249');
        type('search', 'nobody'); await until('none', () => ids().length === 0 && !at('none').hidden);
    """)
    assert told["first"] == names[:100] and told["third"] == names[200:] and told["found"] == names[240:]
