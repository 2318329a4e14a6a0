"""How long it takes: what visitors are told, and how right it was. The arithmetic is in tests/unit/test_eta.c."""

import pytest
import requests

from support import metric, wait_until


def last_state(stream):
    return stream.named("waiting-state")[-1]["data"]


def told(stream, timeout=20.0):
    """The first state with an ETA."""
    return stream.wait(lambda: last_state(stream)["etaSeconds"] is not None and last_state(stream), timeout, "an ETA")


@pytest.fixture
def moving(admin, gateway, visit, scripts):
    """A line that moves by 4 a second, a stream far back in it, and a ticket of somebody who polls behind it."""
    admin.create("s", batch=2, intervalMs=500)
    for _ in range(200):
        scripts.join("s")
    stream = visit(gateway, "s")
    stream.wait_event("waiting-state")
    ticket = requests.post(gateway.url("public") + "/api/queue/join?sessionId=s", timeout=5).json()["ticket"]
    return stream, ticket


def poll(gateway, ticket):
    return requests.get(gateway.url("public") + f"/api/queue/status?ticket={ticket}", timeout=5).json()


def test_frames_and_polls_say_seconds_and_a_range_and_nothing_while_paused(admin, publisher, gateway, moving):
    stream, ticket = moving
    first = stream.named("waiting-state")[0]["data"]
    assert (first["etaSeconds"], first["etaRange"]) == (None, None) or first["etaRange"][0] <= first["etaSeconds"]
    state = told(stream)
    low, high = state["etaRange"]
    assert 0 <= low <= state["etaSeconds"] <= high
    stream.wait(lambda: last_state(stream)["etaSeconds"] == pytest.approx(last_state(stream)["position"] / 4, rel=0.3), 20, "the right ETA")
    polled = poll(gateway, ticket)
    assert polled["etaRange"][0] <= polled["etaSeconds"] <= polled["etaRange"][1]
    assert wait_until(lambda: metric(publisher, "anteroom_session_eta_seconds", session="s")) == pytest.approx(
        admin.live("s")["waiting"] / 4, rel=0.4)
    admin("POST", "/admin/sessions/s/pause")
    stream.wait(lambda: last_state(stream)["status"] == "PAUSED", 10, "PAUSED")
    assert last_state(stream)["etaSeconds"] is None and last_state(stream)["etaRange"] is None
    polled = wait_until(lambda: (answer := poll(gateway, ticket))["paused"] and answer)
    assert polled["etaSeconds"] is None and polled["etaRange"] is None
    wait_until(lambda: metric(publisher, "anteroom_session_eta_seconds", session="s") == 0)


def test_how_wrong_the_etas_were_is_measured(admin, publisher, moving, scripts, client):
    stream, _ = moving
    assert metric(publisher, "anteroom_eta_error_ratio", session="s") == 0
    told(stream)
    assert "anteroom_eta_error_ratio{" not in requests.get(publisher.url("metrics") + "/metrics", timeout=5).text
    scripts.join("s")  # whose promise it is, if there is no sample yet
    admin("PATCH", "/admin/sessions/s", {"batch": 1000})  # the promise is broken: everybody is in at once
    wait_until(lambda: client.zcard(scripts.key("s", "waiting")) == 0)
    wait_until(lambda: metric(publisher, "anteroom_eta_error_ratio", session="s") > 0.3, what="a broken promise")


def test_the_message_has_what_ranges_are_made_of(admin, gateways, scripts):
    gateway = gateways()
    admin.create("s", batch=2, intervalMs=200)
    places = [scripts.join("s", gateway.name) for _ in range(100)]
    for place in places[60:90]:
        scripts.run("leave", "s", place, 0)
    message = wait_until(lambda: [m for m in gateway.messages("waiting-state") if float(m["rate"]) > 0 and float(m["leaving"]) > 0])[-1]
    assert float(message["drift"]) >= 0.05 and 0 < float(message["step"]) < 5 and float(message["noise"]) > 0
