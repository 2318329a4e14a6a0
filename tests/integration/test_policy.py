"""What lets people in, at its limits and with many at once: the pace, changes while people wait, the stock, the cap."""

import concurrent.futures
import json
import signal
import threading

import pytest
import requests

from support import Admin, metric, wait_until
from test_real_input import Crowd
from visitors import entry_of


def admissions(client, session="s"):
    return [fields for _, fields in client.xrange(f"session:{{{session}}}:admissions")]


def join_all(gateways, count, session="s"):
    """COUNT POST joins at once over all gateways; gives the answers."""
    urls = [gateway.url("public") + f"/api/queue/join?sessionId={session}" for gateway in gateways]
    with concurrent.futures.ThreadPoolExecutor(16) as pool:
        return list(pool.map(lambda n: requests.post(urls[n % len(urls)], timeout=20), range(count)))


# ---- the pace ----

def test_ten_an_interval_is_never_more_between_two_refills_and_twenty_across_one(start_publisher, client, scripts):
    """People come in bursts and the owner is frozen in the middle: on the line's clock no interval has more than its batch."""
    daemons = {f"p{n}": start_publisher(publisher_id=f"p{n}", lease_ms=600, tick_ms=50) for n in range(2)}
    Admin(daemons["p0"].url("admin")).create("s", batch=10, intervalMs=500)
    for burst in (3, 30, 1, 12, 25, 40):
        for _ in range(burst):
            scripts.join("s")
        if burst == 25:
            owner = client.hget("session:{s}:state", "owner")
            daemons[owner].signal(signal.SIGSTOP)
            wait_until(lambda: client.hget("session:{s}:state", "owner") != owner, what="another owner")
            daemons[owner].signal(signal.SIGCONT)
        wait_until(lambda: client.zcard("session:{s}:waiting") <= 15, 20, "the line to shrink")
    wait_until(lambda: client.zcard("session:{s}:waiting") == 0, 20, "everybody to be let in")
    times = [int(entry["at"]) for entry in admissions(client)]
    assert len(times) == 111 and times == sorted(times)
    phases = [phase for phase in range(500) if max(per_interval(times, phase)) <= 10]
    assert phases, "no grid of intervals has at most ten in each"
    assert max(sum(1 for other in times if at <= other < at + 500) for at in times) <= 20


def per_interval(times, phase):
    counts = {}
    for at in times:
        counts[(at + phase) // 500] = counts.get((at + phase) // 500, 0) + 1
    return counts.values()


# ---- changes while people wait ----

def test_every_change_counts_from_the_next_tick_and_nobody_is_lost_by_it(admin, client, gateway, visit):
    admin.create("s", batch=1, intervalMs=86400000)
    streams = [visit(gateway) for _ in range(30)]
    wait_until(lambda: sum(1 for stream in streams if stream.named("entry")) == 1, what="the first")
    steps = [({"batch": 4, "intervalMs": 200}, 5), ({"status": "paused"}, None), ({"perUser": "many", "graceMs": 1000}, None),
             ({"maxWaiting": 5, "activeLimit": 12}, None), ({"status": "open"}, 12), ({"activeLimit": 20}, 20), ({"stock": 25, "activeLimit": 0}, 25)]
    for change, least in steps:
        assert admin("PATCH", "/admin/sessions/s", change).status_code == 200
        if least:
            wait_until(lambda: admin.live("s")["admitted"] >= least, what=f"{least} admitted after {change}")
        assert admin.live("s")["admitted"] <= 25
    for stream in streams:
        stream.wait_end()
    entered = [stream for stream in streams if stream.named("entry")]
    assert len(entered) == 25 and all(stream.named("closed")[0]["data"]["reason"] == "sold-out" for stream in streams if stream not in entered)
    assert sorted(stream.ticket["ticket"] for stream in entered) == list(range(1, 26))
    assert [int(entry["ticket"]) for entry in admissions(client)] == list(range(1, 26))
    for stream in streams:
        assert stream.positions == sorted(stream.positions, reverse=True), "no position rises"


# ---- stock ----

def test_five_thousand_race_for_a_stock_that_grows_meanwhile(admin, client, start_gateway, folder):
    """Exactly the stock enters; all others are told sold-out; then joins are 410, and more stock opens the line again."""
    gateways = [start_gateway("gw-1"), start_gateway("gw-2")]
    admin.create("s", batch=20, intervalMs=50, stock=100)
    stop, stock = threading.Event(), [100]

    def raise_stock():
        """Raised before it runs out, four times by 25."""
        while stock[0] < 200 and not stop.wait(0.005):
            if int(client.hget("session:{s}:state", "admitted") or 0) > stock[0] - 60:
                stock[0] += 25
                assert admin("PATCH", "/admin/sessions/s", {"stock": stock[0]}).status_code == 200

    operator = threading.Thread(target=raise_stock)
    operator.start()
    try:
        with Crowd(folder, ",".join(gateway.url("public") for gateway in gateways), session="s", visitors=5000, rate=4000, timeout=120) as crowd:
            code = crowd.process.wait(150)
    finally:
        stop.set()
        operator.join()
    figures = json.loads(crowd.summary.read_text())
    assert code == 0 and stock[0] == 200, crowd.output()
    assert figures["admitted"] == 200 == len(admissions(client))
    assert figures["closed"] + figures["refused"].get("sold-out", 0) == 4800 and set(figures["refused"]) <= {"sold-out"}
    assert figures["waiting"] == 0
    assert [int(entry["ticket"]) for entry in admissions(client)] == list(range(1, 201))
    url = gateways[0].url("public") + "/api/queue/join?sessionId=s"
    answer = requests.post(url, timeout=5)
    assert answer.status_code == 410 and answer.json()["code"] == "sold-out" and answer.headers["Cache-Control"] == "no-store"
    assert admin("PATCH", "/admin/sessions/s", {"stock": 203}).status_code == 200
    wait_until(lambda: admin.live("s")["phase"] == "open", what="the line to open again")
    answers = join_all(gateways, 40)
    assert {answer.status_code for answer in answers} <= {200, 410}
    wait_until(lambda: admin.live("s")["phase"] == "sold-out" and admin.live("s")["waiting"] == 0, what="the end of it")
    assert len(admissions(client)) == 203
    assert admin("PATCH", "/admin/sessions/s", {"stock": 10}).status_code == 200  # below what was admitted: sold out
    wait_until(lambda: admin.live("s")["phase"] == "sold-out", what="sold out")
    assert requests.post(url, timeout=5).status_code == 410


@pytest.mark.parametrize("stock", [0, 1])
def test_the_smallest_stocks(admin, client, gateway, visit, stock):
    admin.create("s", stock=stock)
    wait_until(lambda: admin.live("s")["owner"], what="an owner")
    if stock:
        entry_of(visit(gateway), "s")
    wait_until(lambda: admin.live("s")["phase"] == "sold-out", what="sold out")
    refused = visit(gateway)
    assert refused.wait_event("refused")["data"]["code"] == "sold-out"
    assert len(admissions(client)) == stock


# ---- the cap ----

def test_the_cap_holds_with_many_at_the_door(admin, client, start_gateway):
    gateways = [start_gateway("gw-1"), start_gateway("gw-2")]
    admin.create("s", status="paused", maxWaiting=20)
    answers = join_all(gateways, 200)
    codes = [answer.status_code for answer in answers]
    assert codes.count(200) == 20 and codes.count(503) == 180
    full = next(answer for answer in answers if answer.status_code == 503)
    assert full.json()["code"] == "line-full" and int(full.headers["Retry-After"]) > 0
    ticket = next(answer for answer in answers if answer.status_code == 200).json()["ticket"]
    resumed = requests.post(gateways[1].url("public") + f"/api/queue/join?sessionId=s&ticket={ticket}", timeout=5)
    assert resumed.status_code == 200, "who has a place is not turned away by a full line"
    assert requests.post(gateways[0].url("public") + f"/api/queue/leave?ticket={resumed.json()['ticket']}", timeout=5).status_code == 204
    wait_until(lambda: client.zcard("session:{s}:waiting") == 19, what="the leave")
    assert [answer.status_code for answer in join_all(gateways, 5)].count(200) == 1


# ---- held, and why ----

@pytest.mark.parametrize("config,reason", [
    ({"status": "paused"}, "paused"), ({"activeLimit": 1}, "active-limit"), ({"startsAt": 4102444800000}, "not-started"),
    ({"adaptive": {"minTps": 1, "maxTps": 2, "minCount": 0, "maxCount": 1}}, "load-missing")])
def test_whoever_is_not_let_in_is_told_of_within_a_tick(admin, client, gateway, publisher, visit, config, reason):
    admin.create("s", **config)
    streams = [visit(gateway) for _ in range(2)]
    for stream in streams:
        stream.wait(lambda: stream.events, what="a frame")
    wait_until(lambda: admin.live("s")["held"] == reason, 2, reason)
    assert metric(publisher, "anteroom_session_held", session="s", reason=reason) == 1
    assert metric(publisher, "anteroom_session_held", session="s") == 1, "one reason at a time"
    change = {"status": "open", "activeLimit": 0, "startsAt": None, "adaptive": None}
    assert admin("PATCH", "/admin/sessions/s", {name: change[name] for name in config}).status_code == 200
    for stream in streams:
        stream.wait_event("entry")
    wait_until(lambda: admin.live("s")["held"] is None, 2, "no reason any more")
    assert metric(publisher, "anteroom_session_held", session="s") == 0
