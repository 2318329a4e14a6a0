"""Admission follows the load the site reports: the cap, a missing load, and a small site whose load follows admissions."""

import statistics
import threading

import pytest

from support import Admin, READ_TOKEN, metric, wait_until

ADAPTIVE = {"minTps": 100, "maxTps": 500, "minCount": 0, "maxCount": 50, "onMissing": "hold", "loadKey": "shop:tps"}


def join_many(scripts, count, session="s"):
    for _ in range(count):
        scripts.join(session)


def admitted(client, session="s"):
    return int(client.hget(f"session:{{{session}}}:state", "admitted") or 0)


class Site:
    """A shop: everybody let in makes one request a second for SECONDS. It counts them from the admissions stream, on Redis' clock,
    and reports every PERIOD."""

    PERIOD, SECONDS = 0.05, 1

    def __init__(self, client, session="s", key="shop:tps"):
        self.client, self.stream, self.key = client, f"session:{{{session}}}:admissions", key
        self.loads, self.up = [], True
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._work, daemon=True)
        self._thread.start()

    def _work(self):
        while not self._stop.wait(self.PERIOD):
            seconds, micros = self.client.time()
            now = seconds * 1000 + micros // 1000
            load = len(self.client.xrange(self.stream, now - self.SECONDS * 1000, now))
            if self.up:
                self.client.set(self.key, load, px=500)
                self.loads.append(load)

    def wait_reports(self, count):
        before = len(self.loads)
        wait_until(lambda: len(self.loads) >= before + count, 30, f"{count} reports")
        return self.loads[before:]

    def stop(self):
        self._stop.set()
        self._thread.join()


@pytest.fixture
def site(client):
    made = Site(client)
    yield made
    made.stop()


def test_a_sites_load_settles_and_comes_back_after_an_outage(admin, client, scripts, publisher, site):
    """50 an interval of 100 ms below 100 requests a second, none above 500: the two curves meet at 278 a second."""
    admin.create("s", batch=100, intervalMs=100, adaptive=ADAPTIVE)
    join_many(scripts, 6000)
    site.wait_reports(60)
    settled = site.wait_reports(60)
    print(f"settled at {statistics.mean(settled):.0f}, from {min(settled)} to {max(settled)}")
    assert 230 < statistics.mean(settled) < 320
    assert max(settled) - min(settled) < 0.5 * statistics.mean(settled)
    site.up = False
    publisher.wait_log("load-missing", key="shop:tps")
    wait_until(lambda: admin.live("s")["held"] == "load-missing", what="the reason")
    assert metric(publisher, "anteroom_session_held", session="s", reason="load-missing") == 1
    stood = admitted(client)
    wait_until(lambda: metric(publisher, "anteroom_load_age_seconds", key="shop:tps") > 1, what="an old load")
    assert admitted(client) == stood, "nobody is let in while nobody knows how the site is"
    site.up = True
    publisher.wait_log("load-back", key="shop:tps")
    site.wait_reports(60)
    again = site.wait_reports(40)
    assert 230 < statistics.mean(again) < 320 and max(again) - min(again) < 0.5 * statistics.mean(again)
    assert max(site.loads) < 620, "the first burst and the one after the outage stay near what the site bears"
    assert metric(publisher, "anteroom_load_tps", key="shop:tps") > 0


@pytest.mark.parametrize("missing,expected", [("hold", 0), ("floor", 3), ("ignore", 10)])
def test_what_a_missing_load_means_is_the_sessions_choice(admin, client, scripts, publisher, missing, expected):
    admin.create("s", batch=10, intervalMs=86400000, adaptive={**ADAPTIVE, "minCount": 3, "onMissing": missing})
    join_many(scripts, 20)
    publisher.wait_log("load-missing", key="shop:tps")
    ticks = metric(publisher, "anteroom_tick_duration_seconds_count")
    wait_until(lambda: metric(publisher, "anteroom_tick_duration_seconds_count") > ticks + 3, what="some ticks")
    assert admitted(client) == expected
    assert metric(publisher, "anteroom_session_held", session="s") == (expected == 0)


@pytest.mark.parametrize("value", ["much", "-1", "nan", "1e10", ""])
def test_a_load_that_makes_no_sense_is_missing(admin, client, scripts, publisher, value):
    client.set("shop:tps", value)
    admin.create("s", adaptive=ADAPTIVE)
    scripts.join("s")
    publisher.wait_log("load-missing", key="shop:tps")
    client.set("shop:tps", "0")
    wait_until(lambda: admitted(client) == 1, what="the admission")


def test_a_load_key_of_a_wrong_type_is_missing(admin, client, scripts, publisher):
    client.lpush("shop:tps", 1)
    admin.create("s", adaptive=ADAPTIVE)
    scripts.join("s")
    publisher.wait_log("load-missing", key="shop:tps")
    wait_until(lambda: admin.live("s")["held"] == "load-missing", what="the reason")


def test_a_change_counts_from_the_next_tick(admin, client, scripts, publisher):
    client.set("a:tps", 0)
    client.set("b:tps", 1000)
    admin.create("s", batch=10, intervalMs=100, adaptive={**ADAPTIVE, "loadKey": "b:tps"})
    join_many(scripts, 5)
    wait_until(lambda: admin.live("s")["held"] == "load-high", what="a site that is full")
    assert admitted(client) == 0
    assert admin("PATCH", "/admin/sessions/s", {"adaptive": {"loadKey": "a:tps"}}).status_code == 200
    wait_until(lambda: admitted(client) == 5, what="admissions by the other load")
    assert admin("PATCH", "/admin/sessions/s", {"adaptive": None}).json()["adaptive"] is None
    client.delete("a:tps")
    join_many(scripts, 5)
    wait_until(lambda: admitted(client) == 10, what="admissions without a load")


def test_a_patch_is_merged_and_checked_whole(admin):
    admin.create("s", adaptive=ADAPTIVE)
    assert admin("PATCH", "/admin/sessions/s", {"adaptive": {"minCount": 7}}).json()["adaptive"] == {**ADAPTIVE, "minCount": 7}
    answer = admin("PATCH", "/admin/sessions/s", {"adaptive": {"minTps": 500}, "batch": 0})
    assert answer.status_code == 400 and {error["field"] for error in answer.json()["errors"]} == {"adaptive", "batch"}
    assert admin("PATCH", "/admin/sessions/s", {"adaptive": {"onMissing": None}}).json()["adaptive"]["onMissing"] == "hold"
    assert admin("PUT", "/admin/sessions/s", {"adaptive": {"minTps": 1}}).status_code == 400
    assert admin("GET", "/admin/sessions/s").json()["adaptive"]["minCount"] == 7


def test_two_operators_patch_two_members_at_once(admin, publisher):
    """A merge is made with the version that was read: neither change is lost."""
    admin.create("s", adaptive=ADAPTIVE)
    apis = [Admin(publisher.url("admin")) for _ in range(2)]
    answers = [[], []]

    def patch(index, member):
        for value in range(1, 41):
            answers[index].append(apis[index]("PATCH", "/admin/sessions/s", {"adaptive": {member: value}}).status_code)

    threads = [threading.Thread(target=patch, args=(0, "minCount")), threading.Thread(target=patch, args=(1, "minTps"))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert set(answers[0]) | set(answers[1]) == {200}
    shown = admin("GET", "/admin/sessions/s").json()["adaptive"]
    assert (shown["minCount"], shown["minTps"]) == (40, 40)


def test_the_load_by_the_admin_api(admin, client, scripts, publisher):
    admin.create("s", adaptive=ADAPTIVE)
    scripts.join("s")
    publisher.wait_log("load-missing", key="shop:tps")
    answer = admin("PUT", "/admin/load", {"tps": 40.5, "ttlSeconds": 5, "key": "shop:tps"})
    assert answer.status_code == 204
    assert client.get("shop:tps") == "40.5" and 0 < client.ttl("shop:tps") <= 5
    wait_until(lambda: admitted(client) == 1, what="the admission")
    assert Admin(publisher.url("admin"), READ_TOKEN)("PUT", "/admin/load", {"tps": 1, "ttlSeconds": 1}).status_code == 403


@pytest.mark.parametrize("body,fields", [
    ({}, {"tps", "ttlSeconds", "key"}), ({"tps": "4", "ttlSeconds": 1.5, "key": 7}, {"tps", "ttlSeconds", "key"}),
    ({"tps": -1, "ttlSeconds": 0, "key": "shop:tps", "x": 1}, {"tps", "ttlSeconds", "x"}),
    ({"tps": 1, "ttlSeconds": 3601, "key": "session:{s}:state"}, {"ttlSeconds", "key"}),
    ({"tps": 1, "ttlSeconds": 5, "key": "a b"}, {"key"}), ({"tps": 1, "ttlSeconds": 5, "key": "x" * 129}, {"key"})])
def test_a_load_for_nobody_is_refused(admin, client, scripts, publisher, body, fields):
    """Only the keys that sessions read: else a token could write anywhere in Redis."""
    admin.create("s", adaptive=ADAPTIVE)
    publisher.wait_log("load-missing", key="shop:tps")
    before = set(client.keys("*"))
    answer = admin("PUT", "/admin/load", body)
    assert answer.status_code == 400 and {error["field"] for error in answer.json()["errors"]} == fields
    assert set(client.keys("*")) == before
