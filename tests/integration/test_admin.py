"""The publisher's admin API."""

import signal
import time

import pytest
import requests

from support import ADMIN_TOKEN, READ_TOKEN, Admin, wait_until


def code(answer):
    assert answer.headers["Content-Type"] == "application/problem+json", answer.text
    body = answer.json()
    assert body["status"] == answer.status_code and body["type"] == f"/problems/{body['code']}"
    return answer.status_code, body["code"]


def test_a_created_session_is_read_back_with_defaults_and_live_figures(admin):
    answer = admin("PUT", "/admin/sessions/a", {"batch": 3, "startsAt": "2020-01-01T00:00:00Z"})
    assert answer.status_code == 201 and answer.headers["ETag"] == '"1"'
    shown = admin("GET", "/admin/sessions/a")
    body = shown.json()
    assert shown.status_code == 200 and shown.headers["ETag"] == '"1"'
    assert (body["sessionId"], body["version"], body["batch"], body["intervalMs"]) == ("a", 1, 3, 5000)
    assert body["startsAt"] == "2020-01-01T00:00:00.000Z" and body["endsAt"] is None
    live = wait_until(lambda: (figures := admin.live("a"))["owner"] and figures, what="an owner")
    assert set(live) == {"waiting", "lobby", "parked", "active", "admitted", "head", "tail", "phase", "epoch", "rev",
                         "owner", "held", "crowd", "ratePerSecond", "etaSeconds", "loadTps", "cap", "seedHash", "notice", "noticeAt"}
    assert live["phase"] == "open" and live["waiting"] == 0 and live["held"] is None


def test_what_was_read_can_be_sent_back(admin):
    admin.create("a", batch=3)
    body = admin("GET", "/admin/sessions/a").json()
    body["batch"] = 4
    answer = admin("PUT", "/admin/sessions/a", body, {"If-Match": '"1"'})
    assert answer.status_code == 200 and answer.json()["batch"] == 4
    body["sessionId"] = "b"
    assert admin("PUT", "/admin/sessions/a", body).json()["errors"][0]["field"] == "sessionId"


def test_all_bad_fields_are_named_at_once_and_nothing_is_made(admin, client):
    answer = admin("PUT", "/admin/sessions/a", {"batch": 0, "colour": "red", "status": "ajar", "entryUrl": "ftp://x"})
    assert code(answer) == (400, "bad-request")
    assert {error["field"] for error in answer.json()["errors"]} == {"batch", "colour", "status", "entryUrl"}
    assert code(admin("GET", "/admin/sessions/a")) == (404, "unknown-session")
    assert client.smembers("sessions") == set()


@pytest.mark.parametrize("body, kind, expected", [
    (b"", None, (400, "bad-request")),
    (b"[]", "application/json", (400, "bad-request")),
    (b"{", "application/json", (400, "bad-request")),
    (b'{"batch":1,"batch":2}', "application/json", (400, "bad-request")),
    (b"{}", "text/plain", (415, "unsupported-media-type")),
])
def test_a_body_that_is_no_object_is_refused(admin, body, kind, expected):
    answer = admin.http.put(admin.url + "/admin/sessions/a", data=body, headers={"Content-Type": kind} if kind else {})
    assert code(answer) == expected


@pytest.mark.parametrize("kind", ["application/json; charset=utf-8", "application/merge-patch+json", None])
def test_json_types_and_none_at_all_are_taken(admin, kind):
    headers = {"Content-Type": kind} if kind else {}
    assert admin.http.put(admin.url + "/admin/sessions/a", data=b"{}", headers=headers).status_code == 201


def test_a_body_past_the_limit_is_refused(admin):
    assert admin("PUT", "/admin/sessions/a", {"entryUrl": "x" * 65536}).status_code == 413


def test_a_bad_session_id_is_refused(admin):
    assert code(admin("PUT", "/admin/sessions/a%20b", {})) == (400, "bad-session")
    assert code(admin("PUT", "/admin/sessions/" + "x" * 65, {})) == (400, "bad-session")


def test_a_put_replaces_all_and_a_patch_only_what_it_names(admin):
    admin.create("a", batch=3, stock=5)
    patched = admin("PATCH", "/admin/sessions/a", {"batch": 7})
    assert (patched.json()["batch"], patched.json()["stock"], patched.json()["version"]) == (7, 5, 2)
    assert admin("PATCH", "/admin/sessions/a", {"stock": None}).json()["stock"] == -1
    replaced = admin("PUT", "/admin/sessions/a", {"intervalMs": 1000})
    assert replaced.status_code == 200
    assert (replaced.json()["batch"], replaced.json()["intervalMs"], replaced.json()["version"]) == (10, 1000, 4)


def test_versions_are_preconditions(admin):
    admin.create("a")
    assert code(admin("PUT", "/admin/sessions/a", {}, {"If-None-Match": "*"})) == (412, "precondition-failed")
    assert code(admin("PATCH", "/admin/sessions/a", {}, {"If-Match": '"2"'})) == (412, "precondition-failed")
    assert code(admin("DELETE", "/admin/sessions/a", None, {"If-Match": '"2"'})) == (412, "precondition-failed")
    assert code(admin("PUT", "/admin/sessions/b", {}, {"If-Match": '"1"'})) == (412, "precondition-failed")
    assert code(admin("PATCH", "/admin/sessions/a", {}, {"If-Match": "1"})) == (400, "bad-request")
    assert admin("PATCH", "/admin/sessions/a", {"batch": 2}, {"If-Match": '"1"'}).headers["ETag"] == '"2"'
    assert admin("PATCH", "/admin/sessions/a", {"batch": 3}, {"If-Match": "*"}).status_code == 200
    assert admin("PUT", "/admin/sessions/b", {}, {"If-None-Match": "*"}).status_code == 201


def test_a_line_with_people_in_it_is_not_replaced_by_accident(admin, scripts):
    admin.create("a", status="paused")
    scripts.join("a")
    assert code(admin("PUT", "/admin/sessions/a", {"status": "paused"})) == (409, "session-in-use")
    assert admin("PUT", "/admin/sessions/a", {"status": "paused"}, {"If-Match": '"1"'}).status_code == 200
    assert code(admin("DELETE", "/admin/sessions/a")) == (409, "session-in-use")


def test_pause_resume_and_close_set_the_status_and_may_be_repeated(admin):
    admin.create("a")
    for verb, status in (("pause", "paused"), ("resume", "open"), ("close", "closed")):
        first, second = (admin("POST", f"/admin/sessions/a/{verb}") for _ in range(2))
        assert first.status_code == second.status_code == 200
        assert first.json()["status"] == status and first.json()["version"] == second.json()["version"]
    assert code(admin("POST", "/admin/sessions/b/pause")) == (404, "unknown-session")


def test_a_paused_line_says_so_and_admits_nobody(admin, scripts, gateways):
    gateway = gateways()
    admin.create("a", status="paused")
    scripts.join("a", gateway.name)
    wait_until(lambda: admin.live("a")["held"] == "paused", what="held")
    assert gateway.messages("entry") == []
    admin("POST", "/admin/sessions/a/resume")
    gateway.wait_message("entry")
    assert wait_until(lambda: admin.live("a")["admitted"] == 1)


def test_clear_sends_those_away_who_wait_now(admin, scripts, gateways):
    gateway = gateways()
    admin.create("a", status="paused")
    for _ in range(3):
        scripts.join("a", gateway.name)
    assert admin("POST", "/admin/sessions/a/clear").status_code == 200
    message = gateway.wait_message("closed", session="a")
    assert message["reason"] == "cleared" and message["tail"] == "3"
    wait_until(lambda: admin.live("a")["waiting"] == 0)
    scripts.join("a", gateway.name)
    wait_until(lambda: gateway.messages("waiting-state", tail="4", waiting="1"))


def test_delete_tells_the_gateways_and_leaves_a_tombstone(admin, scripts, gateways, client):
    gateway = gateways()
    admin.create("a", status="paused")
    scripts.join("a", gateway.name)
    assert admin("DELETE", "/admin/sessions/a", params={"force": "true"}).status_code == 204
    message = gateway.wait_message("closed", session="a")
    assert message["reason"] == "closed" and int(message["tail"]) == 2**53
    assert code(admin("GET", "/admin/sessions/a")) == (404, "unknown-session")
    assert code(admin("DELETE", "/admin/sessions/a")) == (404, "unknown-session")
    assert client.hget(scripts.key("a", "state"), "phase") == "deleted"
    wait_until(lambda: client.smembers("sessions") == set())
    assert admin("PUT", "/admin/sessions/a", {}).status_code == 201


def test_the_list_is_in_order_and_in_pages(admin, client):
    for session in ("c", "a", "b"):
        admin.create(session)
    client.sadd("sessions", "bare")  # an id without a config
    first = admin("GET", "/admin/sessions", params={"limit": 3}).json()
    assert [item["sessionId"] for item in first["items"]] == ["a", "b"] and first["next"] == "bare"
    rest = admin("GET", "/admin/sessions", params={"limit": 3, "after": first["next"]}).json()
    assert [item["sessionId"] for item in rest["items"]] == ["c"] and rest["next"] is None
    assert code(admin("GET", "/admin/sessions", params={"limit": 0})) == (400, "bad-request")
    assert admin("GET", "/admin/sessions", params={"after": "x"}).json() == {"items": [], "next": None}


def test_a_place_is_shown_and_evicted(admin, scripts, gateways, client):
    gateway = gateways()
    admin.create("a", status="paused")
    first, second = (scripts.join("a", gateway.name) for _ in range(2))
    shown = admin("GET", f"/admin/sessions/a/places/{second}").json()
    assert (shown["status"], shown["ticket"], shown["position"], shown["server"]) == ("WAITING", 2, 2, gateway.name)
    assert admin("DELETE", f"/admin/sessions/a/places/{first}").status_code == 204
    message = gateway.wait_message("closed", place=first)
    assert message["reason"] == "evicted" and message["epoch"] == client.hget(scripts.key("a", "state"), "epoch")
    assert code(admin("DELETE", f"/admin/sessions/a/places/{first}")) == (404, "not-found")
    assert admin("GET", f"/admin/sessions/a/places/{second}").json()["position"] == 1
    assert [entry["action"] for _, entry in client.xrange(scripts.key("a", "audit"))] == ["create", "evict"]


def test_an_entered_place_shows_its_expiry_and_no_token(admin, scripts, gateways):
    gateway = gateways()
    admin.create("a")
    place = scripts.join("a", gateway.name)
    gateway.wait_message("entry", place=place)
    shown = admin("GET", f"/admin/sessions/a/places/{place}").json()
    assert set(shown) == {"sessionId", "placeId", "status", "expiresAt"} and shown["status"] == "ENTERED"
    assert code(admin("DELETE", f"/admin/sessions/a/places/{place}")) == (409, "already-entered")


def test_servers_are_listed_with_their_lag(admin, gateways, client):
    gateway = gateways("gw-1")
    client.xadd(gateway.stream, {"type": "notice"})
    item, = wait_until(lambda: admin("GET", "/admin/servers").json()["items"])
    assert (item["server"], item["id"], item["boot"]) == (gateway.name, "gw-1", "boot0001")
    assert (item["lag"], item["pending"]) == (1, 0)
    wait_until(lambda: admin("GET", "/admin/servers").json()["items"][0]["alive"])
    assert code(admin("DELETE", f"/admin/servers/{gateway.name}")) == (409, "server-alive")
    assert code(admin("DELETE", "/admin/servers/gw-2")) == (404, "not-found")


def test_changes_are_logged_and_audited_with_their_actor(admin, publisher, client, scripts):
    admin.create("a", batch=3)
    admin("PATCH", "/admin/sessions/a", {"batch": 4})
    line = publisher.wait_log("admin", action="patch")
    assert line["actor"] == "alice" and line["session"] == "a"
    assert '"batch":3' in line["before"] and '"batch":4' in line["after"]
    entries = [entry for _, entry in client.xrange(scripts.key("a", "audit"))]
    assert [(entry["actor"], entry["action"], entry["version"]) for entry in entries] == [
        ("alice", "create", "1"), ("alice", "patch", "2")]


def test_no_token_no_answer(publisher):
    url = publisher.url("admin") + "/admin/sessions"
    for header in (None, f"Basic {ADMIN_TOKEN}", "Bearer x", "Bearer"):
        answer = requests.get(url, headers={"Authorization": header} if header else {}, timeout=5)
        assert code(answer) == (401, "unauthorized")
        assert answer.headers["WWW-Authenticate"].startswith("Bearer")
    assert requests.get(publisher.url("admin") + "/healthz", timeout=5).status_code == 200
    assert ADMIN_TOKEN not in publisher.text()


def test_a_reading_token_changes_nothing(admin, publisher):
    reader = Admin(publisher.url("admin"), READ_TOKEN)
    admin.create("a")
    assert reader("GET", "/admin/sessions/a").status_code == 200
    for method, path in (("PUT", "/b"), ("PATCH", "/a"), ("DELETE", "/a"), ("POST", "/a/pause"),
                         ("DELETE", "/a/places/" + "x" * 22)):
        assert code(reader(method, f"/admin/sessions{path}", {})) == (403, "forbidden")
    assert admin("GET", "/admin/sessions/a").json()["version"] == 1


def test_guessing_tokens_becomes_slow_and_a_good_one_makes_it_quick_again(admin, publisher):
    guesser = Admin(publisher.url("admin"), "not-the-token-at-all-1")

    def guess():
        begun = time.monotonic()
        assert guesser("GET", "/admin/sessions").status_code == 401
        return time.monotonic() - begun

    assert max(guess() for _ in range(5)) < 0.9
    assert guess() >= 0.9
    assert admin("GET", "/admin/sessions").status_code == 200
    assert guess() < 0.9


def test_a_guesser_who_hangs_up_or_waits_at_the_end_does_no_harm(publisher):
    guesser = Admin(publisher.url("admin"), "not-the-token-at-all-1")
    for _ in range(5):
        guesser("GET", "/admin/sessions")
    with pytest.raises(requests.ReadTimeout):
        guesser.http.get(guesser.url + "/admin/sessions", timeout=0.1)
    publisher.stop()


def test_sighup_reads_the_tokens_again_or_keeps_them(admin, publisher, folder):
    folder.write("tokens", "carol another-token-for-tests\n")
    publisher.signal(signal.SIGHUP)
    publisher.wait_log("keys-read")
    assert admin("GET", "/admin/sessions").status_code == 401
    carol = Admin(publisher.url("admin"), "another-token-for-tests")
    assert carol("GET", "/admin/sessions").status_code == 200
    folder.write("tokens", "short\n")
    publisher.signal(signal.SIGHUP)
    assert "line 1" in publisher.wait_log("keys-kept")["detail"]
    assert carol("GET", "/admin/sessions").status_code == 200


def test_unknown_paths_and_methods(admin):
    assert admin("GET", "/admin/nothing").status_code == 404
    answer = admin("POST", "/admin/sessions/a", {})
    assert answer.status_code == 405 and "PUT" in answer.headers["Allow"]


def test_without_redis_it_says_so(admin, redis_server):
    admin.create("a")
    redis_server.kill()
    wait_until(lambda: admin("GET", "/admin/sessions/a").status_code == 503)
    answer = admin("PATCH", "/admin/sessions/a", {"batch": 1})
    assert code(answer) == (503, "unavailable") and answer.headers["Retry-After"] == "1"
