"""The waiting page as people see it, with a picture of each stage in the test's folder."""

import http.server
import threading
import urllib.parse

import jwt
import pytest

import support

PICTURE_BYTES = 3000  # a blank one has fewer


class Site(http.server.BaseHTTPRequestHandler):
    """The site people are let in to: whatever comes, a page."""

    def answer(self):
        body = b"<!doctype html><title>The site</title><h1>Welcome</h1>" if self.server.status == 200 else b""
        sent = self.rfile.read(int(self.headers.get("Content-Length", 0))).decode()
        self.server.visits.append((self.command, self.path, sent, dict(self.headers)))
        self.send_response(self.server.status)
        self.send_header("Content-Type", "text/html")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    do_GET = do_POST = answer

    def log_message(self, *args):
        pass


@pytest.fixture
def site():
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Site)
    server.visits, server.status = [], 200
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    yield server
    server.shutdown()
    server.server_close()
    thread.join(5)


def room(browser, gateway, session="s", **options):
    return browser.tab(gateway.url("public") + f"/room/{session}", **options)


def kept(tab, session="s"):
    """What the ticket in sessionStorage says."""
    return jwt.decode(tab.wait(f"sessionStorage.getItem('anteroom:{session}')"), options={"verify_signature": False})


def redis_ms(client):
    seconds, micros = client.time()
    return seconds * 1000 + micros // 1000


def no_sideways_scrolling(tab):
    return tab.run("document.documentElement.scrollWidth <= document.documentElement.clientWidth")


def test_from_the_lobby_to_the_site(admin, gateway, browser, scripts, client, site, tmp_path):
    """Lobby, draw, line, notice, entry; each at the width of a phone, and nothing sticks out of it."""
    pictures = []

    def take(name):
        assert no_sideways_scrolling(tab), name
        pictures.append(tab.picture(tmp_path / f"{len(pictures) + 1}-{name}.png"))

    # The end of the line, so that the lobby has some company and the draw keeps its order.
    admin.create("s", batch=1, intervalMs=60000, startsAt=redis_ms(client) + 6000, lobby="arrival",
                 entryUrl=f"http://127.0.0.1:{site.server_port}/in")
    places = [scripts.join_lobby("s") for _ in range(7)]
    tab = room(browser, gateway, width=390)
    tab.wait_text("caption", "opens in")
    tab.wait_text("note", "8 people")
    take("lobby")
    admin("POST", "/admin/sessions/s/pause")
    tab.wait_text("position", "8", 20)
    tab.wait_text("caption", "paused")
    assert tab.text("ahead") == "7" and kept(tab)["ticket"] == 8 and kept(tab)["first"] == 8
    take("paused")
    admin("POST", "/admin/sessions/s/announce", {"message": "Doors are late by 10 minutes. <b>Please stay</b>, your place is kept."})
    tab.wait_text("notice", "<b>Please stay</b>")
    take("notice")
    for place in places[:5]:
        scripts.run("leave", "s", place, 0)
    tab.wait_text("position", "3")
    assert tab.run("document.getElementById('progress').value") == 0.62
    admin("POST", "/admin/sessions/s/announce", {"message": ""})
    tab.wait("document.getElementById('notice').hidden")
    admin("POST", "/admin/sessions/s/resume")
    tab.wait_text("caption", "in line")
    take("waiting")
    site.status = 204  # makes a browser stay where it is, so that there is something to see
    admin("PATCH", "/admin/sessions/s", {"batch": 100, "intervalMs": 100})
    tab.wait_text("caption", "your turn", 20)
    assert tab.text("token") == ""
    take("entry")
    support.wait_until(lambda: [path for _, path, _, _ in site.visits] == ["/in"], what="a visit")
    assert all(picture.stat().st_size > PICTURE_BYTES for picture in pictures)


@pytest.mark.parametrize("method", ("fragment", "post"))
def test_the_token_reaches_the_site_and_nobody_else(admin, gateway, browser, site, method):
    url = f"http://127.0.0.1:{site.server_port}/in"
    admin.create("s", batch=1, intervalMs=100, entryUrl=url, entryMethod=method)
    tab = room(browser, gateway)
    tab.wait(f"location.href.startsWith('{url}') && document.readyState === 'complete'")
    command, path, sent, headers = next(visit for visit in site.visits if visit[1].startswith("/in"))
    token = tab.run("location.hash") if method == "fragment" else sent
    token = token.removeprefix("#").removeprefix("anteroom_token=")
    assert jwt.decode(token, support.ENTRY_KEY, algorithms=["HS256"], audience="s")["ticket"] == 1
    assert (command, path) == (("GET", "/in") if method == "fragment" else ("POST", "/in"))
    assert "Referer" not in headers and token not in str(headers)


@pytest.mark.parametrize("to,passed", [("/seats?row=3&x=1", "/seats?row=3&x=1"), ("//evil.example/", None), ("https://evil.example/", None),
                                       ("/\\evil.example", None), ("", None)])
def test_where_the_visitor_wanted_to_go_is_passed_on(admin, gateway, browser, site, to, passed):
    url = f"http://127.0.0.1:{site.server_port}/in"
    admin.create("s", batch=1, intervalMs=100, entryUrl=url)
    tab = browser.tab(gateway.url("public") + "/room/s?to=" + urllib.parse.quote(to, safe=""))
    tab.wait(f"location.href.startsWith('{url}') && document.readyState === 'complete'")
    fields = urllib.parse.parse_qs(tab.run("location.hash").removeprefix("#"))
    assert "anteroom_token" in fields and fields.get("to") == ([passed] if passed else None)


def test_a_reload_keeps_the_place(admin, gateway, browser, scripts, client, tmp_path):
    """Where the cookie does not help: the ticket in sessionStorage does, and it is the tab's own."""
    admin.create("s", status="paused", perUser="many")
    scripts.join("s", mode="poll")
    tab = room(browser, gateway)
    tab.wait_text("position", "2")
    before = kept(tab)
    scripts.join("s", mode="poll")
    for generation in (2, 3):
        tab.reload()
        tab.wait_text("position", "2")
        tab.wait_text("behind", "1")
        after = kept(tab)
        assert (after["place"], after["ticket"], after["gen"]) == (before["place"], 2, generation)
    other = room(browser, gateway)  # another tab of this browser: a place of its own
    other.wait_text("position", "4")
    assert not client.zscore("session:{s}:parked", before["place"]) and tab.text("position") == "2"
    tab.run("document.getElementById('leave').click()")
    other.wait_text("position", "3")
    tab.wait_text("note", "You left")
    tab.picture(tmp_path / "left.png")


@pytest.mark.parametrize("per_user", ("newest", "many"))
def test_the_second_tab_has_it_and_the_first_says_so(admin, gateway, browser, tmp_path, per_user):
    admin.create("s", status="paused", perUser=per_user)
    first = room(browser, gateway)
    first.wait_text("position", "1")
    second = browser.tab(gateway.url("public") + "/problems/closed")  # with many: a tab that was duplicated
    if per_user == "many":
        second.run(f"sessionStorage.setItem('anteroom:s', {first.run('sessionStorage.getItem(`anteroom:s`)')!r})")
    second.go(gateway.url("public") + "/room/s")
    second.wait_text("position", "1")
    first.wait_text("caption", "Open elsewhere")
    first.picture(tmp_path / "superseded.png")
    first.run("document.getElementById('again').click()")  # the person is at this one again
    first.wait_text("position", "1")
    second.wait_text("caption", "Open elsewhere")


@pytest.mark.parametrize("config,caption,note", [
    (None, "Not waiting", "does not exist"),
    ({"status": "closed"}, "Not waiting", "closed"),
    ({"status": "paused", "maxWaiting": 1}, "Not in line yet", "takes no more people"),
])
def test_who_is_refused_is_told_why(admin, gateway, browser, scripts, tmp_path, config, caption, note):
    if config:
        admin.create("s", **config)
    if config and "maxWaiting" in config:
        scripts.join("s", mode="poll")
    tab = room(browser, gateway)
    tab.wait_text("note", note)
    tab.wait_text("caption", caption)
    assert no_sideways_scrolling(tab) and tab.run("document.getElementById('line').hidden")
    if "maxWaiting" in (config or {}):  # it is not said over when the stream ends, and ends well
        tab.wait("performance.getEntriesByType('resource').some((one) => one.name.includes('/stream') && one.responseEnd)")
        assert note in tab.text("note")
    tab.picture(tmp_path / "refused.png")


def test_an_old_ticket_of_another_key_is_forgotten(admin, gateway, browser):
    """As after a change of TICKET_KEY_FILE: the page joins anew instead of giving up."""
    admin.create("s", status="paused")
    tab = browser.tab(gateway.url("public") + "/problems/closed")
    tab.run("sessionStorage.setItem('anteroom:s', 'a.b.c')")
    tab.go(gateway.url("public") + "/room/s")
    tab.wait_text("position", "1")
    assert kept(tab)["ticket"] == 1


def test_without_an_entry_url_the_page_says_so(admin, gateway, browser, tmp_path):
    admin.create("s", batch=1, intervalMs=100)
    tab = room(browser, gateway, width=390)
    tab.wait_text("caption", "your turn")
    assert tab.text("token").count(".") == 2
    assert no_sideways_scrolling(tab)
    tab.picture(tmp_path / "entered.png")
