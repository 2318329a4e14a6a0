"""The operator's word: told to everybody who waits, and to those who come while it stands."""

import pytest

from support import Admin, READ_TOKEN, wait_until


def said(stream):
    return [event["data"]["message"] for event in stream.named("notice")]


def test_a_notice_is_told_to_all_and_to_newcomers_until_it_is_taken_back(admin, start_gateway, visit):
    gateways = [start_gateway("gw-1"), start_gateway("gw-2")]
    admin.create("s", status="paused")
    streams = [visit(gateways[n % 2]) for n in range(4)]
    for stream in streams:
        stream.wait_event("waiting-state")
    text = 'Doors "open" at \\ 9 – 곧 시작합니다'
    answer = admin("POST", "/admin/sessions/s/announce", {"message": text})
    assert answer.status_code == 200 and answer.json()["live"]["notice"] == text
    for stream in streams:
        event = stream.wait_event("notice")
        assert event["data"] == {"sessionId": "s", "message": text, "at": answer.json()["live"]["noticeAt"]}
    late = visit(gateways[1])
    late.wait_event("notice")
    back = visit(gateways[0], ticket=late.last_id)
    back.wait_event("notice")
    assert admin("POST", "/admin/sessions/s/announce", {"message": ""}).status_code == 200
    for stream in streams + [back]:
        stream.wait(lambda: said(stream) == [text, ""], what="the notice taken back")
    again = visit(gateways[1], ticket=streams[0].last_id)
    again.wait(lambda: said(again) == [""], what="what it may still be showing, taken back")
    newest = visit(gateways[0])
    newest.wait_event("waiting-state")
    assert said(newest) == []


def test_a_notice_whose_message_was_lost_is_told_all_the_same(admin, client, gateway, visit):
    """The picture has it: a gap in the announcements makes the gateway fetch one."""
    admin.create("s", status="paused")
    stream = visit(gateway)
    stream.wait_event("waiting-state")
    body = admin("POST", "/admin/sessions/s/announce", {"message": "first"})
    assert body.status_code == 200
    stream.wait(lambda: said(stream) == ["first"], what="the first")
    client.hset("session:{s}:state", mapping={"notice": "second", "notice_at": int(client.time()[0]) * 1000 + 10000,
                                              "rev": int(client.hget("session:{s}:state", "rev")) + 5})
    stream.wait(lambda: said(stream) == ["first", "second"], what="the second, by the picture")


def test_the_lobby_hears_it_too(admin, gateway, visit):
    admin.create("s", startsAt=4102444800000)
    stream = visit(gateway)
    stream.wait_event("lobby")
    assert admin("POST", "/admin/sessions/s/announce", {"message": "Soon."}).status_code == 200
    assert stream.wait_event("notice")["data"]["message"] == "Soon."
    late = visit(gateway)
    late.wait_event("lobby")
    assert said(late) == ["Soon."]


@pytest.mark.parametrize("body", [{}, {"message": 1}, {"message": None}, {"message": "a\nb"}, {"message": "a\u007f"},
                                  {"message": "x" * 1001}, {"message": "한" * 334}, {"message": "x", "more": 1}])
def test_what_is_no_notice_changes_nothing(admin, client, body):
    admin.create("s")
    before = client.xlen("session:{s}:audit")
    answer = admin("POST", "/admin/sessions/s/announce", body)
    assert answer.status_code == 400 and answer.json()["code"] == "bad-request"
    assert client.xlen("session:{s}:audit") == before and client.hget("session:{s}:state", "notice") is None


def test_the_longest_notice_fits_a_frame(admin, gateway, visit):
    """With every byte escaped, before a new connection's first frame and its ticket."""
    admin.create("s" * 64, status="paused")
    text = '"' * 1000
    assert admin("POST", f"/admin/sessions/{'s' * 64}/announce", {"message": text}).status_code == 200
    stream = visit(gateway, "s" * 64)
    assert stream.wait_event("notice")["data"]["message"] == text
    stream.wait_position(1)


def test_who_may_and_who_did(admin, publisher, client):
    admin.create("s")
    assert Admin(publisher.url("admin"), READ_TOKEN)("POST", "/admin/sessions/s/announce", {"message": "x"}).status_code == 403
    assert admin("POST", "/admin/sessions/nobody/announce", {"message": "x"}).status_code == 404
    assert admin("POST", "/admin/sessions/s/announce", {"message": "x"}, headers={"If-Match": '"7"'}).status_code == 412
    version = admin("GET", "/admin/sessions/s").headers["ETag"]
    assert admin("POST", "/admin/sessions/s/announce", {"message": "Hello"}).headers["ETag"] == version
    line = publisher.wait_log("admin", action="announce")
    assert line["actor"] == "alice" and "Hello" in line["after"]
    entry = client.xrevrange("session:{s}:audit", count=1)[0][1]
    assert (entry["actor"], entry["action"], entry["after"]) == ("alice", "announce", '{"message":"Hello"}')


def test_a_session_made_anew_has_no_notice(admin, gateway, visit):
    admin.create("s", status="paused")
    visit(gateway).wait_event("waiting-state")
    assert admin("POST", "/admin/sessions/s/announce", {"message": "old"}).status_code == 200
    assert admin("DELETE", "/admin/sessions/s?force=true").status_code == 204
    admin.create("s", status="paused")
    stream = visit(gateway)
    stream.wait_event("waiting-state")
    wait_until(lambda: admin.live("s")["owner"], what="an owner")
    assert said(stream) == []
