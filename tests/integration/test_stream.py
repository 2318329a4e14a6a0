"""The main way: from a visitor's first request to an entry token in hand."""

import requests

import support
import visitors


def test_a_visitor_sees_exact_positions_and_then_gets_a_token(admin, gateway, visit):
    admin.create("s", batch=1, intervalMs=300, status="paused")
    streams = []
    for number in range(1, 4):
        streams.append(visit(gateway))
        state = streams[-1].wait_event("waiting-state")["data"]
        assert state["position"] == number and state["ahead"] == number - 1 and state["status"] == "PAUSED"
        assert 2000 <= streams[-1].retry < 5000
    assert admin("POST", "/admin/sessions/s/resume").status_code == 200
    places = []
    for number, stream in enumerate(streams, 1):
        claims = visitors.entry_of(stream, "s")
        stream.wait_end()
        assert claims["ticket"] == number and claims["jti"] == stream.ticket["place"] == claims["sub"]
        assert stream.positions == sorted(stream.positions, reverse=True)
        assert stream.headers["content-type"] == "text/event-stream" and stream.headers["cache-control"] == "no-store"
        places.append(claims["jti"])
    assert streams[2].positions[-1] == 1
    assert len(set(places)) == 3


def test_an_entry_is_offered_once_and_a_browser_that_has_it_is_told_to_stop(admin, gateway, visit):
    admin.create("s", batch=1, intervalMs=100)
    stream = visit(gateway)
    token = stream.wait_event("entry")["data"]["token"]
    ticket = stream.last_id
    again = visit(gateway, ticket=ticket)
    again.wait(lambda: again.status)
    assert again.status == 204
    # One that did not get it sends the id before: the same token, byte for byte.
    missed = visit(gateway, ticket=ticket.removesuffix(".e"))
    assert missed.wait_event("entry")["data"]["token"] == token


def test_a_place_outlives_its_connection_and_comes_back_through_another_gateway(admin, gateway, start_gateway, visit, client):
    admin.create("s", batch=1, intervalMs=60000, status="paused")
    first, second, third = visit(gateway), None, None
    first.wait_event("waiting-state")
    second = visit(gateway)
    second.wait_event("waiting-state")
    third = visit(gateway)
    third.wait_event("waiting-state")
    ticket = second.last_id
    second.close()
    support.wait_until(lambda: client.zcard("session:{s}:parked") == 1, what="a parked place")
    other = start_gateway("gw-2")
    back = visit(other, ticket=ticket)
    assert back.wait_event("waiting-state")["data"]["position"] == 2
    assert back.ticket["ticket"] == 2 and back.ticket["gen"] == 2
    assert client.zcard("session:{s}:parked") == 0
    assert third.position == 3


def test_the_newest_connection_of_a_place_has_it(admin, gateway, start_gateway, visit):
    admin.create("s", status="paused")
    other = start_gateway("gw-2")
    first = visit(gateway)
    first.wait_event("waiting-state")
    second = visit(other, ticket=first.last_id)
    second.wait_event("waiting-state")
    first.wait_event("superseded")
    first.wait_end()
    assert first.last_id.endswith(".e")
    third = visit(other, ticket=second.last_id)
    third.wait_event("waiting-state")
    second.wait_event("superseded")
    assert third.ticket["gen"] == 3
    assert not third.ended


def test_leaving_moves_everybody_behind_up(admin, gateway, visit):
    admin.create("s", status="paused")
    streams = []
    for _ in range(4):
        streams.append(visit(gateway))
        streams[-1].wait_event("waiting-state")
    answer = requests.post(gateway.url("public") + "/api/queue/leave", params={"ticket": streams[1].last_id}, timeout=5)
    assert answer.status_code == 204 and answer.headers["Cache-Control"] == "no-store"
    assert streams[1].wait_event("closed")["data"]["reason"] == "left"
    streams[2].wait_position(2)
    streams[3].wait_position(3)
    assert streams[0].position == 1
    old = requests.post(gateway.url("public") + "/api/queue/leave", params={"ticket": streams[1].last_id.removesuffix(".e")}, timeout=5)
    assert old.status_code == 204


def test_leaving_with_an_older_generation_changes_nothing(admin, gateway, visit, client):
    admin.create("s", status="paused")
    first = visit(gateway)
    first.wait_event("waiting-state")
    old = first.last_id
    second = visit(gateway, ticket=old)
    second.wait_event("waiting-state")
    assert requests.post(gateway.url("public") + "/api/queue/leave", params={"ticket": old}, timeout=5).status_code == 204
    third = visit(gateway, ticket=second.last_id)
    assert third.wait_event("waiting-state")["data"]["position"] == 1
    assert client.zcard("session:{s}:waiting") == 1


def test_join_and_status_without_a_stream(admin, gateway, client):
    admin.create("s", batch=1, intervalMs=200, status="paused")
    base = gateway.url("public") + "/api/queue"
    joined = requests.post(f"{base}/join", params={"sessionId": "s"}, timeout=5)
    body = joined.json()
    assert joined.status_code == 200 and body["status"] == "WAITING" and body["position"] == 1
    assert joined.cookies["anteroom_ticket_s"] == body["ticket"]
    status = requests.get(f"{base}/status", params={"ticket": body["ticket"]}, timeout=5)
    assert status.json()["position"] == 1 and status.headers["Retry-After"] == "1"
    assert client.zcard("session:{s}:parked") == 1
    admin("POST", "/admin/sessions/s/resume")

    def entered():
        return requests.get(f"{base}/status", params={"ticket": body["ticket"]}, timeout=5).json()
    final = support.wait_until(lambda: (answer := entered())["status"] == "ENTERED" and answer, what="the entry")
    assert final["position"] == 0 and final["token"].count(".") == 2
    # The reload of a page that polls: its cookie gives the entry again.
    again = requests.post(f"{base}/join", params={"sessionId": "s"}, cookies={"anteroom_ticket_s": body["ticket"]}, timeout=5)
    assert again.json()["token"] == final["token"]


def test_somebody_who_is_gone_is_not_waiting(admin, gateway, visit):
    admin.create("s", status="paused")
    stream = visit(gateway)
    stream.wait_event("waiting-state")
    ticket = stream.last_id
    requests.post(gateway.url("public") + "/api/queue/leave", params={"ticket": ticket}, timeout=5)
    stream.wait_event("closed")

    def status():
        return requests.get(gateway.url("public") + "/api/queue/status", params={"ticket": ticket}, timeout=5).json()
    assert support.wait_until(lambda: (answer := status())["status"] == "NOT_WAITING" and answer)["position"] == -1
    back = visit(gateway, ticket=ticket)  # a new place at the back
    assert back.wait_event("waiting-state")["data"]["position"] == 1
    assert back.ticket["ticket"] == 2


def test_http_1_0_streams_end_with_the_connection(admin, gateway, visit):
    admin.create("s", batch=1, intervalMs=100)
    stream = visit(gateway, version="1.0")
    visitors.entry_of(stream, "s")
    stream.wait_end()
    assert "transfer-encoding" not in stream.headers


def test_an_entry_url_of_any_script_reaches_the_visitor(admin, gateway, visit):
    admin.create("s", batch=1, intervalMs=100, entryUrl="https://shop.example/예매")
    assert visit(gateway).wait_event("entry")["data"]["entryUrl"] == "https://shop.example/예매"


def test_silence_is_broken_by_comments(admin, start_gateway, visit):
    admin.create("s", status="paused")
    gateway = start_gateway(heartbeat_s=1)
    stream = visit(gateway)
    stream.wait(lambda: stream.comments >= 2, what="two comments")


def test_closing_clearing_and_selling_out_tell_everybody(admin, gateway, visit):
    for session, act, reason in (("a", ("POST", "/admin/sessions/a/close"), "closed"), ("b", ("POST", "/admin/sessions/b/clear"), "cleared"),
                                 ("c", ("PATCH", "/admin/sessions/c", {"stock": 0, "status": "open"}), "sold-out"),
                                 ("d", ("DELETE", "/admin/sessions/d?force=true"), "closed")):
        admin.create(session, status="paused")
        streams = [visit(gateway, session) for _ in range(3)]
        for stream in streams:
            stream.wait_event("waiting-state")
        assert admin(*act).status_code in (200, 204)
        for stream in streams:
            assert stream.wait_event("closed")["data"]["reason"] == reason
            stream.wait_end()
    late = visit(gateway, "b")
    assert late.wait_event("waiting-state")["data"]["position"] == 1


def test_a_line_in_ten_thousand_pieces_of_json_is_never_needed(admin, gateway, visit, client):
    """Positions after many departures come from one bitmap: a gateway that is new to the session is exact at once."""
    admin.create("s", status="paused")
    scripts = support.Scripts(client)
    places = [scripts.join("s", mode="poll") for _ in range(300)]
    for place in places[::3]:
        assert scripts.run("leave", "s", place, 0)[0] == "departed"
    stream = visit(gateway)
    assert stream.wait_event("waiting-state")["data"]["position"] == 201
    for place in places[1::3]:
        scripts.run("leave", "s", place, 0)
    stream.wait_position(101)
    assert client.zrank("session:{s}:waiting", stream.ticket["place"]) == 100
