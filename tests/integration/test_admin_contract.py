"""The admin API under attack and at scale: pages over ten thousand sessions, races, odd input, changes under load."""

import json
import threading
import time

import pytest

import support
from support import READ_TOKEN, Admin, wait_until


def code(answer):
    assert answer.headers["Content-Type"] == "application/problem+json", answer.text
    return answer.status_code, answer.json()["code"]


def pages(admin, limit, between=lambda: None):
    """Ids of all pages, and how long each page took."""
    ids, after, seconds = [], None, []
    while True:
        begun = time.monotonic()
        answer = admin("GET", "/admin/sessions", params={"limit": limit, **({"after": after} if after else {})})
        seconds.append(time.monotonic() - begun)
        assert answer.status_code == 200, answer.text
        ids += [item["sessionId"] for item in answer.json()["items"]]
        after = answer.json()["next"]
        if not after:
            return ids, seconds
        between()


def test_ten_thousand_sessions_each_once_while_others_come_and_go(start_publisher, client, scripts):
    """Each page is one read of the set and 500 looks; how long it takes is asserted loosely (a shared machine, ASan)."""
    names = [f"session-{number:05d}" for number in range(10000)]
    pipe = client.pipeline(transaction=False)
    for name in names:  # as configure writes them
        pipe.sadd("sessions", name)
        pipe.hset(scripts.key(name, "config"), mapping={"batch": 1, "intervalMs": 60000, "version": 1})
        pipe.hset(scripts.key(name, "state"), mapping={"epoch": 1, "phase": "open", "tail": 0, "head": 0, "base": 0, "rev": 1})
    pipe.execute()
    admin = Admin(start_publisher(tick_ms=60000, lease_ms=600000).url("admin"))
    coming, going = iter(range(10000)), iter(range(0, 10000, 97))

    def come_and_go():
        admin.create(f"session-{next(coming):05d}-new")
        gone = next(going)
        assert admin("DELETE", f"/admin/sessions/{names[gone]}").status_code == 204
        removed.add(names[gone])

    removed = set()
    ids, seconds = pages(admin, 500, come_and_go)
    assert ids == sorted(ids) and len(ids) == len(set(ids))
    assert set(names) - removed <= set(ids)
    assert len(seconds) >= 20 and sorted(seconds)[len(seconds) // 2] < 2
    print(f"a page of 500 of 10,000: median {sorted(seconds)[len(seconds) // 2] * 1000:.0f} ms")
    admin.close()


@pytest.mark.parametrize("query", ["limit=0", "limit=501", "limit=-1", "limit=1e2", "limit=", "limit=99999999999999999999", "after=a%20b",
                                   "after=", "after=" + "x" * 65, "limit=1&limit=2", "limt=5", "after=a&after=b", "limit=%00"])
def test_a_page_that_makes_no_sense_is_refused(admin, query):
    assert code(admin("GET", f"/admin/sessions?{query}")) == (400, "bad-request")


def test_a_misspelt_parameter_changes_nothing(admin, scripts):
    admin.create("a", status="paused")
    scripts.join("a")
    for query in ("forced=true", "force=true&force=false", "force=TRUE", "force=1", "force"):
        assert code(admin("DELETE", f"/admin/sessions/a?{query}")) == (400, "bad-request"), query
    assert code(admin("POST", "/admin/sessions/a/pause?now=1")) == (400, "bad-request")
    assert admin("GET", "/admin/sessions/a").json()["version"] == 1


def test_two_operators_race_and_one_wins(admin, publisher, client, scripts):
    admin.create("a", batch=1)
    for version in range(1, 16):
        start, answers = threading.Barrier(2), []

        def change(batch, tag=f'"{version}"', go=start, out=answers):
            operator = Admin(publisher.url("admin"))
            go.wait(10)
            out.append((operator("PATCH", "/admin/sessions/a", {"batch": batch}, {"If-Match": tag}).status_code, batch))
            operator.close()

        both = [threading.Thread(target=change, args=(1000 + 2 * version + number,)) for number in range(2)]
        [thread.start() for thread in both]
        [thread.join(20) for thread in both]
        assert sorted(status for status, _ in answers) == [200, 412]
        shown = admin("GET", "/admin/sessions/a").json()
        assert (shown["version"], shown["batch"]) == (version + 1, dict(answers)[200])
    assert client.xlen(scripts.key("a", "audit")) == 16


def test_ids_of_64_characters_are_ids_and_of_65_are_not(admin):
    longest = "a" * 63 + "Z"
    admin.create(longest)
    assert admin("GET", f"/admin/sessions/{longest}").json()["sessionId"] == longest
    assert [item["sessionId"] for item in admin("GET", "/admin/sessions").json()["items"]] == [longest]
    for method in ("GET", "PUT", "PATCH", "DELETE"):
        body = {} if method in ("PUT", "PATCH") else None
        assert code(admin(method, f"/admin/sessions/{longest}x", body)) == (400, "bad-session")
    assert code(admin("POST", f"/admin/sessions/{longest}x/pause")) == (400, "bad-session")
    for odd in ("a%2Fb", "a.b", "%C3%A9", "%7Ba%7D", "a%7Db", "a%00"):
        answer = admin("GET", f"/admin/sessions/{odd}")
        assert answer.status_code == 400 and answer.json()["code"] in ("bad-session", "bad-request"), odd


def raw(admin, method, path, body, kind="application/json", headers=None):
    return admin.http.request(method, admin.url + path, data=body, headers={"Content-Type": kind, **(headers or {})}, timeout=10)


@pytest.mark.parametrize("body", [
    b"[" * 30000, b'{"a":' * 10000, b'{"batch":' + b"[" * 3000 + b"]" * 3000 + b"}", b'{"batch":1e999}', b'{"batch":1' + b"0" * 400 + b"}",
    b'{"batch":1,"batch":1}', b'{"a":{"b":1,"b":2}}', b'{"bat\\u0000ch":1}', b'{"entryUrl":"https://a\\u0000b"}', b'{"\xff":1}', b"null", b'"x"',
    b"{}{}", b"\xef\xbb\xbf{}", b'{"batch":NaN}', b'{"batch":true}', b'{"batch":"1"}', b'{"batch":1.0}', b'{"status":["open"]}', b'{"virtual":1}',
    b'{"startsAt":"yesterday"}', b'{"startsAt":"2026-13-01T00:00:00Z"}', b'{"startsAt":-1}', b'{"version":{}, "nothing":1}',
])
@pytest.mark.parametrize("method", ["PUT", "PATCH"])
def test_bodies_made_to_hurt_are_refused_and_change_nothing(admin, client, scripts, method, body):
    admin.create("a")
    assert code(raw(admin, method, "/admin/sessions/a", body)) == (400, "bad-request")
    assert client.hget(scripts.key("a", "config"), "version") == "1" and client.xlen(scripts.key("a", "audit")) == 1


def test_thousands_of_unknown_fields_are_all_named(admin):
    body = json.dumps({f"field{number}": 0 for number in range(4000)})
    answer = raw(admin, "PUT", "/admin/sessions/a", body)
    assert code(answer) == (400, "bad-request") and len(answer.json()["errors"]) == 4000


def test_a_body_at_the_limit_is_read_and_one_past_it_is_not(admin):
    padded = b"{" + b" " * (65536 - 2) + b"}"
    assert raw(admin, "PUT", "/admin/sessions/a", padded).status_code == 201
    assert raw(admin, "PUT", "/admin/sessions/b", padded + b" ").status_code == 413
    assert admin("GET", "/admin/sessions/b").status_code == 404


def test_wrong_types_and_methods_are_refused(admin):
    admin.create("a")
    for kind in ("text/plain", "application/x-www-form-urlencoded", "application/jsonx", ""):
        assert code(raw(admin, "PATCH", "/admin/sessions/a", b"{}", kind)) == (415, "unsupported-media-type")
    answer = admin("HEAD", "/admin/sessions/a")
    assert answer.status_code == 405 and answer.content == b"" and "GET" in answer.headers["Allow"]
    for method, path in (("DELETE", "/admin/sessions"), ("PUT", "/admin/sessions/a/pause"), ("GET", "/admin/sessions/a/crowd"),
                         ("POST", "/admin/sessions"), ("OPTIONS", "/admin/sessions/a"), ("PATCH", "/admin/servers/x")):
        assert admin(method, path, {} if method in ("PUT", "POST", "PATCH") else None).status_code == 405, (method, path)
    assert admin("GET", "/admin/sessions/a/").status_code == 404
    assert admin("GET", "/admin//sessions/a").status_code == 404


@pytest.mark.parametrize("tag", ['"1', "1", 'W/"1"', '"1","2"', '""', '"0"', '"-1"', '"01"', '" 1"', '"9223372036854775808"', "**"])
def test_a_precondition_that_is_none_is_refused(admin, tag):
    admin.create("a")
    assert code(admin("PATCH", "/admin/sessions/a", {"batch": 2}, {"If-Match": tag})) == (400, "bad-request")
    assert admin("GET", "/admin/sessions/a").json()["version"] == 1


def test_a_patch_that_changes_nothing_is_no_change(admin, publisher, client, scripts):
    admin.create("a", batch=3)
    state = client.hget(scripts.key("a", "state"), "rev")
    for body, headers in (({}, {}), ({"batch": 3}, {}), ({"stock": None}, {}), ({"batch": 3}, {"If-Match": '"1"'}), ({}, {"If-Match": "*"})):
        answer = admin("PATCH", "/admin/sessions/a", body, headers)
        assert answer.status_code == 200 and answer.headers["ETag"] == '"1"', (body, headers)
    assert code(admin("PATCH", "/admin/sessions/a", {"batch": 3}, {"If-Match": '"2"'})) == (412, "precondition-failed")
    assert code(admin("PATCH", "/admin/sessions/b", {})) == (404, "unknown-session")
    assert client.xlen(scripts.key("a", "audit")) == 1 and publisher.logged("admin", action="patch") == []
    assert int(client.hget(scripts.key("a", "state"), "rev")) <= int(state) + 1


def test_null_takes_every_field_back(admin):
    values = {"batch": 7, "intervalMs": 100, "maxWaiting": 5, "activeLimit": 5, "stock": 5, "startsAt": "2020-01-01T00:00:00.000Z",
              "endsAt": "2040-01-01T00:00:00.000Z", "status": "paused", "perUser": "many", "rejoin": "back", "graceMs": 1, "tokenTtlSeconds": 9,
              "entryUrl": "https://a.example/", "entryMethod": "post", "virtual": True, "admissionsDays": 1}
    plain = admin.create("plain")
    created = admin.create("a", **values)
    assert {name: created[name] for name in values} == values
    bare = admin("PATCH", "/admin/sessions/a", {name: None for name in values}).json()
    assert {name: bare[name] for name in values} == {name: plain[name] for name in values}


def test_a_refused_change_says_why_and_is_not_audited(admin, publisher, client, scripts):
    admin.create("a")
    answer = admin("PATCH", "/admin/sessions/a", {"batch": 0, "intervalMs": 49, "stock": -2})
    details = {error["field"]: error["detail"] for error in answer.json()["errors"]}
    assert details == {"batch": "must be a whole number from 1 to 1000000", "intervalMs": "must be a whole number from 50 to 86400000",
                       "stock": "must be a whole number from -1 to 1000000000"}
    reader = Admin(publisher.url("admin"), READ_TOKEN)
    for method, path in (("PUT", "/b"), ("PATCH", "/a"), ("DELETE", "/a"), ("POST", "/a/clear"), ("POST", "/a/close"), ("POST", "/a/crowd")):
        assert code(reader(method, f"/admin/sessions{path}", {"batch": 0})) == (403, "forbidden")
    reader.close()
    assert client.xlen(scripts.key("a", "audit")) == 1 and len(publisher.logged("admin")) == 1
    assert publisher.logged("admin-refused", actor="bob", code="forbidden")


def test_every_kind_of_change_is_in_the_audit_with_its_actor(admin, publisher, client, scripts):
    admin.create("a", virtual=True, status="paused")
    place = scripts.join("a")
    admin("PATCH", "/admin/sessions/a", {"batch": 4})
    admin("PUT", "/admin/sessions/a", {"status": "paused", "virtual": True}, {"If-Match": "\"2\""})
    for verb in ("resume", "pause", "close"):
        admin("POST", f"/admin/sessions/a/{verb}")
    admin("POST", "/admin/sessions/a/resume")
    publisher_actions = ["create", "patch", "replace", "resume", "pause", "close", "resume"]
    admin("POST", "/admin/sessions/a/pause")
    admin("POST", "/admin/sessions/a/crowd", {"count": 1, "perSecond": 1})
    admin("POST", "/admin/sessions/a/clear")
    admin("DELETE", "/admin/sessions/a", params={"force": "true"})
    entries = [entry for _, entry in client.xrange(scripts.key("a", "audit"))]
    assert [entry["action"] for entry in entries] == [*publisher_actions, "pause", "crowd", "clear", "delete"]
    assert {entry["actor"] for entry in entries} == {"alice"}
    assert [line["action"] for line in publisher.logged("admin")] == [entry["action"] for entry in entries]
    assert place


def test_pace_changed_under_load_loses_and_reorders_nobody(admin, publisher, scripts, client, gateway, visit):
    """Batch and interval are changed again and again while people come and go in."""
    admin.create("s", batch=1, intervalMs=100, graceMs=600000)
    streams, joined, stop = [], [], threading.Event()

    def come():
        other = support.Scripts(client)
        while not stop.is_set() and len(joined) < 3000:
            joined.append(other.join("s", mode="poll"))

    thread = threading.Thread(target=come)
    thread.start()
    try:
        for step in range(30):
            streams.append(visit(gateway, "s"))
            body = {"batch": 1 + step * 7 % 40, "intervalMs": 50 + step * 37 % 200}
            answer = admin("PATCH", "/admin/sessions/s", body)
            assert answer.status_code == 200 and answer.json()["batch"] == body["batch"]
            seen = client.xlen(scripts.key("s", "admissions"))
            wait_until(lambda: client.xlen(scripts.key("s", "admissions")) > seen, what="an admission after the change")
    finally:
        stop.set()
        thread.join(20)
    assert admin("PATCH", "/admin/sessions/s", {"batch": 1000, "intervalMs": 50}).status_code == 200
    wait_until(lambda: client.zcard(scripts.key("s", "waiting")) == 0, timeout=30, what="everybody admitted")
    for stream in streams:
        stream.wait_event("entry")
        assert stream.positions == sorted(stream.positions, reverse=True)
    admitted = [entry for _, entry in client.xrange(scripts.key("s", "admissions"))]
    assert [int(entry["ticket"]) for entry in admitted] == list(range(1, len(joined) + len(streams) + 1))
    assert {entry["place"] for entry in admitted} == set(joined) | {stream.ticket["place"] for stream in streams}


def test_a_new_batch_holds_from_the_next_tick_on(admin, scripts, client):
    admin.create("s", batch=1, intervalMs=60000, status="paused")
    for _ in range(30):
        scripts.join("s")
    admin("POST", "/admin/sessions/s/resume")
    wait_until(lambda: client.xlen(scripts.key("s", "admissions")) == 1)
    admin("PATCH", "/admin/sessions/s", {"intervalMs": 50})  # an interval that would have passed has passed
    wait_until(lambda: client.xlen(scripts.key("s", "admissions")) >= 3)
    admin("PATCH", "/admin/sessions/s", {"batch": 1000})
    wait_until(lambda: client.zcard(scripts.key("s", "waiting")) == 0)
    tickets = [int(entry["ticket"]) for _, entry in client.xrange(scripts.key("s", "admissions"))]
    assert tickets == list(range(1, 31))
