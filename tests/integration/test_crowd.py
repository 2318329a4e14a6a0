"""Virtual crowds: rehearsals in order with real visitors."""

import pytest

import support
from support import READ_TOKEN, Admin, metric, wait_until


def code(answer):
    return answer.status_code, answer.json()["code"]


def crowd(admin, session, count, per_second):
    return admin("POST", f"/admin/sessions/{session}/crowd", {"count": count, "perSecond": per_second})


def joined(client, scripts, session):
    """When each place of the session joined (ms of Redis), by kind."""
    stamps = {"v": [], "a": [], "n": []}
    for value in client.hvals(scripts.key(session, "places")):
        fields = value.split("\t")
        stamps[fields[4]].append(int(fields[3]))
    return {kind: sorted(times) for kind, times in stamps.items()}


def test_a_crowd_comes_at_its_pace_in_order_with_real_visitors(admin, publisher, gateway, visit, scripts, client):
    admin.create("s", virtual=True, status="paused")
    answer = crowd(admin, "s", 2000, 1000)
    assert answer.status_code == 202 and answer.json() == {"sessionId": "s", "count": 2000, "perSecond": 1000}
    assert admin.live("s")["crowd"]["count"] == 2000
    real = []
    while not publisher.logged("crowd-ended"):
        real.append(visit(gateway, "s"))
        real[-1].wait_event("waiting-state")
        seen = client.zcard(scripts.key("s", "waiting"))
        wait_until(lambda: client.zcard(scripts.key("s", "waiting")) > seen + 100 or publisher.logged("crowd-ended"))
    ended = publisher.logged("crowd-ended")[0]
    assert (ended["reason"], ended["made"], ended["waiting"], ended["unsure"]) == ("complete", 2000, 2000, 0)
    assert admin.live("s")["crowd"] is None
    stamps = joined(client, scripts, "s")
    assert len(stamps["v"]) == 2000 and len(stamps["a"]) == len(real) and len(real) >= 5
    for number, stamp in enumerate(stamps["v"]):  # never ahead of the pace
        assert number <= stamp - stamps["v"][0] + 300
    between = [stream.ticket["ticket"] for stream in real[1:-1]]
    assert all(100 < ticket <= 2000 + len(real) for ticket in between)
    assert client.zcard(scripts.key("s", "parked")) == 0  # no deadline

    admin("PATCH", "/admin/sessions/s", {"status": "open", "batch": 1000, "intervalMs": 100})
    for stream in real:
        stream.wait_event("entry")
    wait_until(lambda: client.xlen(scripts.key("s", "admissions")) == 2000 + len(real), what="everybody admitted")
    admitted = [entry for _, entry in client.xrange(scripts.key("s", "admissions"))]
    assert [int(entry["ticket"]) for entry in admitted] == list(range(1, 2001 + len(real)))
    assert [entry["kind"] for entry in admitted].count("virtual") == 2000
    places = {stream.ticket["place"] for stream in real}
    assert {entry["place"] for entry in admitted if entry["kind"] == "actual"} == places
    counted = wait_until(lambda: (total := metric(publisher, "anteroom_session_admitted_total", session="s")) >= 2000 and total)
    assert counted == 2000 + len(real)
    assert not [stream for stream in real if stream.positions != sorted(stream.positions, reverse=True)]


def test_a_crowd_is_logged_and_audited_with_who_sent_it(admin, publisher, client, scripts):
    admin.create("s", virtual=True)
    crowd(admin, "s", 3, 100)
    line = publisher.wait_log("admin", action="crowd")
    assert (line["actor"], line["session"], line["count"], line["per_second"]) == ("alice", "s", 3, 100)
    entry = client.xrevrange(scripts.key("s", "audit"), count=1)[0][1]
    assert entry == {"actor": "alice", "action": "crowd", "count": "3", "perSecond": "100"}
    publisher.wait_log("crowd-ended", session="s", reason="complete")


def test_a_session_that_takes_none_refuses_it(admin, publisher, client, scripts):
    admin.create("s")
    assert code(crowd(admin, "s", 10, 10)) == (409, "not-virtual")
    assert code(crowd(admin, "nobody", 10, 10)) == (404, "unknown-session")
    admin("PATCH", "/admin/sessions/s", {"virtual": True, "status": "closed"})
    assert code(crowd(admin, "s", 10, 10)) == (409, "closed")
    assert code(crowd(Admin(publisher.url("admin"), READ_TOKEN), "s", 10, 10)) == (403, "forbidden")
    assert "crowd" not in [entry["action"] for _, entry in client.xrange(scripts.key("s", "audit"))]
    assert publisher.logged("crowd-started") == []


@pytest.mark.parametrize("body, fields", [
    ({}, {"count", "perSecond"}),
    ({"count": 0, "perSecond": 0}, {"count", "perSecond"}),
    ({"count": 1000001, "perSecond": 20001}, {"count", "perSecond"}),
    ({"count": 10.5, "perSecond": "10"}, {"count", "perSecond"}),
    ({"count": None, "perSecond": 10, "colour": "red"}, {"count", "colour"}),
    ({"count": 2**63 - 1, "perSecond": -1}, {"count", "perSecond"}),
])
def test_all_bad_fields_are_named_at_once(admin, body, fields):
    admin.create("s", virtual=True)
    answer = admin("POST", "/admin/sessions/s/crowd", body)
    assert code(answer) == (400, "bad-request")
    assert {error["field"] for error in answer.json()["errors"]} == fields


def test_the_largest_crowd_is_taken_and_a_second_one_is_not(admin, publisher):
    admin.create("s", virtual=True, status="paused")
    assert crowd(admin, "s", 1000000, 1).status_code == 202
    assert code(crowd(admin, "s", 1, 20000)) == (409, "crowd-running")
    admin.create("t", virtual=True)
    assert crowd(admin, "t", 1, 20000).status_code == 202
    publisher.wait_log("crowd-ended", session="t", reason="complete")


def test_a_hundred_crowds_and_no_more(admin):
    for number in range(101):
        admin.create(f"s{number}", virtual=True, status="paused")
    answers = [crowd(admin, f"s{number}", 1000, 1) for number in range(101)]
    assert {answer.status_code for answer in answers[:100]} == {202}
    assert code(answers[100]) == (409, "too-many-crowds")


@pytest.mark.parametrize("change, reason", [
    (lambda admin: admin("DELETE", "/admin/sessions/s", params={"force": "true"}), "deleted"),
    (lambda admin: admin("POST", "/admin/sessions/s/close"), "closed"),
    (lambda admin: admin("PATCH", "/admin/sessions/s", {"virtual": False}), "not-virtual"),
])
def test_a_crowd_ends_with_what_it_was_for(admin, publisher, client, scripts, change, reason):
    admin.create("s", virtual=True, status="paused")
    crowd(admin, "s", 100000, 200)
    wait_until(lambda: client.zcard(scripts.key("s", "waiting")) > 20)
    assert change(admin).ok
    ended = publisher.wait_log("crowd-ended", session="s")
    assert ended["reason"] == reason and ended["made"] == ended["waiting"] + ended["refused"] < 100000
    waiting = client.zcard(scripts.key("s", "waiting"))
    assert waiting <= ended["waiting"]


def test_a_session_made_anew_does_not_get_the_old_ones_crowd(admin, publisher, client, scripts):
    admin.create("s", virtual=True, status="paused")
    crowd(admin, "s", 100000, 20)
    wait_until(lambda: client.zcard(scripts.key("s", "waiting")) > 2)
    assert admin("DELETE", "/admin/sessions/s", params={"force": "true"}).status_code == 204
    admin.create("s", virtual=True, status="paused")
    assert publisher.wait_log("crowd-ended", session="s")["reason"] in ("another line", "deleted")


def test_a_full_line_turns_virtual_people_away_like_others(admin, publisher, client, scripts):
    admin.create("s", virtual=True, status="paused", maxWaiting=10)
    crowd(admin, "s", 30, 1000)
    ended = publisher.wait_log("crowd-ended", session="s")
    assert (ended["reason"], ended["made"], ended["waiting"], ended["refused"]) == ("complete", 30, 10, 20)
    assert client.zcard(scripts.key("s", "waiting")) == 10


def test_a_publisher_that_stops_midway_ends_well(admin, publisher, client, scripts):
    admin.create("s", virtual=True, status="paused")
    crowd(admin, "s", 100000, 2000)
    wait_until(lambda: client.zcard(scripts.key("s", "waiting")) > 200)
    publisher.stop()
    ended = publisher.logged("crowd-ended")[0]
    assert ended["reason"] == "stopping" and ended["unsure"] == 0
    assert client.zcard(scripts.key("s", "waiting")) == ended["made"] == ended["waiting"]


def test_a_crowd_outlives_a_redis_that_hangs_and_never_exceeds_its_count(admin, publisher, redis_server, client, scripts):
    admin.create("s", virtual=True, status="paused")
    crowd(admin, "s", 1500, 1000)
    wait_until(lambda: client.zcard(scripts.key("s", "waiting")) > 200)
    redis_server.pause()
    publisher.wait_log("redis-down", connection="commands", timeout=20)
    redis_server.resume()
    ended = publisher.wait_log("crowd-ended", session="s", timeout=20)
    assert ended["reason"] == "complete" and ended["made"] == 1500 and ended["unsure"] > 0
    wait_until(lambda: support.is_ready(publisher, "metrics"))
    waiting = client.zcard(scripts.key("s", "waiting"))
    assert ended["waiting"] <= waiting <= ended["waiting"] + ended["unsure"] <= 1500
