"""What a browser's own EventSource makes of the stream, without a line of ours in the page."""

import support
from chromium import CLOSED, OPEN, Watcher, minute

STREAM = "/api/queue/stream?sessionId="


def page(browser, gateway):
    """A tab of the gateway's own origin with no script in it."""
    return browser.tab(gateway.url("public") + "/problems/closed")


def test_side_by_side_for_a_minute(admin, start_gateway, browser, scripts):
    """perUser=newest: two tabs at one gateway, two at two gateways, and meanwhile somebody before a full line."""
    gateways = [start_gateway("gw-1", heartbeat_s=5), start_gateway("gw-2", heartbeat_s=5)]
    tabs = [page(browser, gateways[0]), page(browser, gateways[0]), page(browser, gateways[1])]
    pairs = {"one": (tabs[0], tabs[1]), "two": (tabs[0], tabs[2])}
    watchers = {}
    for session, pair in pairs.items():
        admin.create(session, status="paused", perUser="newest")
        watchers[session] = []
        for tab in pair:
            watchers[session].append(Watcher(tab, session, STREAM + session))
            watchers[session][-1].wait_event("waiting-state")
    for session in pairs:
        watchers[session][0].wait_event("superseded")
    admin.create("full", status="paused", maxWaiting=1)
    scripts.join("full")  # no connection, and no deadline either
    early = Watcher(page(browser, gateways[0]), "full", STREAM + "full")

    def newest_is_undisturbed():
        for session in pairs:
            assert watchers[session][1].seen()["state"] == OPEN and not watchers[session][1].named("superseded")
    minute(newest_is_undisturbed)
    for session, (old, new) in watchers.items():
        assert len(old.named("superseded")) == 1 and old.seen()["state"] == CLOSED and old.seen()["opened"] == 1
        assert new.seen()["opened"] == 1 and new.seen()["errors"] == 0
        # The browser's one reconnect after `superseded` was told to stop; the newer was never disturbed.
        answers = [pairs[session][number].answers(STREAM + session) for number in (0, 1)]
        assert answers == [[200, 204], [200]]
    # Who was told to come back came back by itself, not before it should, and nobody else's place was touched.
    told = early.named("unavailable")
    assert len(told) >= 2 and {one["data"]["code"] for one in told} == {"line-full"} and {one["id"] for one in told} == {""}
    waits = [later["at"] - one["at"] for one, later in zip(told, told[1:])]
    assert min(waits) >= told[0]["data"]["retryAfterSeconds"] * 1000 == 10000 and max(waits) <= 31000
    assert early.seen()["state"] != CLOSED and set(early.tab.answers("full")) == {200}
    assert sum(support.metric(gateway, "anteroom_joins_total", result="waiting") for gateway in gateways) == 2
    assert sum(support.metric(gateway, "anteroom_joins_total", result="resumed") for gateway in gateways) == 2


def ended(watcher, event, answers):
    """A last event that the browser heard; its reconnect was told to stop, and it has."""
    seen = watcher.wait_event(event)
    watcher.wait_state(CLOSED)
    assert seen["id"].endswith(".e") and watcher.tab.answers("/stream") == answers
    return seen["data"]


def test_a_refusal_is_final(admin, gateway, browser):
    admin.create("over", status="closed")
    codes = {"nobody": "unknown-session", "over": "closed", "over&ticket=nonsense": "bad-ticket"}
    watchers = [Watcher(page(browser, gateway), "a", STREAM + session) for session in codes]
    for watcher, code in zip(watchers, codes.values()):
        data = ended(watcher, "refused", [200, 204])
        assert data["code"] == code and data["detail"]


def test_a_mistake_of_the_page_ends_it_by_status(gateway, browser):
    watcher = Watcher(page(browser, gateway), "a", STREAM + "a%20b")
    watcher.wait_state(CLOSED)
    assert watcher.seen()["events"] == [] and watcher.tab.answers("/stream") == [400]


def test_the_end_of_a_line_and_an_entry_stop_it(admin, gateway, browser):
    admin.create("s", status="paused")
    admin.create("t", status="paused")
    closing, entering = (Watcher(page(browser, gateway), "a", STREAM + session) for session in "st")
    for watcher in (closing, entering):
        watcher.wait_event("waiting-state")
    admin("POST", "/admin/sessions/s/close")
    admin("POST", "/admin/sessions/t/resume")
    assert ended(closing, "closed", [200, 204])["reason"] == "closed"
    assert ended(entering, "entry", [200, 204])["token"].count(".") == 2
    assert len(entering.named("entry")) == 1


def test_a_broken_connection_resumes_by_itself_through_another_gateway(admin, start_gateway, browser, scripts):
    """One address, as behind a balancer: a gateway goes away, another takes its port, and EventSource does the rest."""
    admin.create("s", status="paused")
    scripts.join("s", mode="poll")
    first = start_gateway("gw-1")
    watcher = Watcher(page(browser, first), "a", STREAM + "s")
    watcher.wait_event("waiting-state")  # without the cookie Last-Event-ID alone has to do it
    watcher.tab.call("Network.clearBrowserCookies")
    place = watcher.wait_event("waiting-state")
    address = first.address("public")
    first.stop()
    second = start_gateway("gw-2", listen=address)
    watcher.wait_state(OPEN, 15)
    support.wait_until(lambda: len(watcher.named("waiting-state")) >= 2, 15, "a state after the reconnect")
    back = watcher.named("waiting-state")[-1]
    assert back["data"]["position"] == place["data"]["position"] == 2 and back["id"] != place["id"]
    assert support.metric(second, "anteroom_joins_total", result="resumed") == 1


def test_a_foreign_page_opens_no_stream(admin, start_gateway, browser, client):
    admin.create("s", status="paused")
    gateway, foreign = start_gateway("gw-1"), start_gateway("gw-2")
    own = Watcher(page(browser, gateway), "a", STREAM + "s")
    own.wait_event("waiting-state")
    support.wait_until(lambda: client.hget("session:{s}:state", "dirty") == "0", what="a settled line")
    before = support.dump(client)
    elsewhere = page(browser, foreign)
    url = gateway.url("public")
    watcher = Watcher(elsewhere, "a", url + STREAM + "s")
    watcher.wait_state(CLOSED)
    assert watcher.seen()["events"] == [] and own.seen()["state"] == OPEN
    for method, path in (("POST", "join?sessionId=s"), ("POST", "leave?sessionId=s"), ("GET", "status?sessionId=s")):
        script = f"fetch('{url}/api/queue/{path}', {{method: '{method}', credentials: 'include', mode: '%s'}}).then((a) => a.type + a.status, () => 'no')"
        assert elsewhere.run(script % "cors") == "no"
        assert elsewhere.run(script % "no-cors") == "opaque0"
    elsewhere.run(f"""(() => {{ const form = document.createElement('form'); form.method = 'post';
        form.action = '{url}/api/queue/leave?sessionId=s'; document.body.append(form); form.submit(); }})()""")
    elsewhere.wait("document.body.innerText.includes('origin-refused')")
    assert support.dump(client) == before and own.seen()["state"] == OPEN
    # The API opened in a tab is the waiting page.
    elsewhere.go(url + STREAM + "s")
    assert elsewhere.run("location.pathname") == "/room/s"
