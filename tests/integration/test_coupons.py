"""deploy/examples/coupon-worker: everybody admitted has one coupon, whatever becomes of the workers."""

import argparse
import importlib.machinery
import importlib.util
import multiprocessing
import signal
import socket
import sqlite3
import subprocess
import threading

import pytest

import support
from support import wait_until

KEY = "session:{s}:admissions"


class Trap:
    """A way to Redis that stops in front of the first XACK: it, and everything after it, never arrives."""

    def __init__(self, folder, target):
        self.path = folder / "trap.sock"
        self.sprung = threading.Event()
        self.sockets = []
        self.server = socket.socket(socket.AF_UNIX)
        self.server.bind(str(self.path))
        self.server.listen(4)
        threading.Thread(target=self._accept, args=(str(target),), daemon=True).start()

    def _accept(self, target):
        while True:
            try:
                client, _ = self.server.accept()
            except OSError:
                return
            redis = socket.socket(socket.AF_UNIX)
            redis.connect(target)
            self.sockets += [client, redis]
            threading.Thread(target=self._pass, args=(client, redis, True), daemon=True).start()
            threading.Thread(target=self._pass, args=(redis, client, False), daemon=True).start()

    def _pass(self, source, sink, watched):
        try:
            while data := source.recv(1 << 20):
                if watched and b"\r\nXACK\r\n" in data:
                    self.sprung.set()
                    return
                sink.sendall(data)
        except OSError:
            pass

    def close(self):
        for one in [self.server, *self.sockets]:
            one.close()


@pytest.fixture
def trap(tmp_path, redis_server):
    made = Trap(tmp_path, redis_server.socket)
    yield made
    made.close()


@pytest.fixture
def database(tmp_path):
    return tmp_path / "coupons.db"


@pytest.fixture
def work(redis_server, database):
    """Starts workers; those still running at the end must stop well."""
    running = []

    def start(*options, url=None, session="s"):
        command = [str(support.ROOT / "deploy" / "examples" / "coupon-worker"), "--redis-url", url or redis_server.url,
                   "--session", session, "--database", str(database), *options]
        running.append(subprocess.Popen(command, stderr=subprocess.PIPE, text=True))
        return running[-1]

    yield start
    for process in running:
        if process.poll() is None:
            process.send_signal(signal.SIGTERM)
        process.communicate(timeout=20)


def coupons(database, column="place"):
    with sqlite3.connect(database, timeout=30) as connection:
        try:
            return [row[0] for row in connection.execute(f"SELECT {column} FROM coupons ORDER BY ticket")]
        except sqlite3.OperationalError:  # not made yet
            return []


def admit(client, count, kind="actual", user=lambda number: "", start=1):
    places = [f"{number:022d}" for number in range(start, start + count)]
    for number, place in enumerate(places, start):
        client.xadd(KEY, {"place": place, "user": user(number), "ticket": number, "epoch": 1, "at": 1, "kind": kind})
    return places


def stop(process):
    process.send_signal(signal.SIGTERM)
    _, log = process.communicate(timeout=20)
    assert process.returncode == 0, log
    return log


def test_five_hundred_admitted_five_hundred_coupons_though_a_worker_was_killed(admin, scripts, client, redis_server, trap, database, work):
    """The killed one had committed its batch and not acknowledged it."""
    admin.create("s", batch=500, intervalMs=1000, virtual=True, status="paused")
    places = {scripts.join("s", user=f"u-{number}") for number in range(480)}
    places |= {scripts.join("s", mode="poll") for _ in range(20)}
    virtual = {scripts.join("s", mode="virtual") for _ in range(10)}
    admin("POST", "/admin/sessions/s/resume")
    victim = work("--consumer", "victim", url=f"unix://{trap.path}")
    assert trap.sprung.wait(20)
    committed = coupons(database)
    assert committed and client.xpending(KEY, "coupons")["consumers"][0]["name"] == "victim"
    victim.kill()
    victim.wait()
    survivor = work("--consumer", "survivor", "--idle-ms", "50")
    wait_until(lambda: client.xlen(KEY) == 510 and len(coupons(database)) >= 500 and client.xpending(KEY, "coupons")["pending"] == 0,
               timeout=20, what="everything acknowledged")
    stop(survivor)
    issued = coupons(database)
    assert len(issued) == 500 and set(issued) == places and not virtual & set(issued)
    assert set(committed) <= set(issued)
    assert len(set(coupons(database, "code"))) == 500


def reading(client):
    """How many wait for the next admission just now."""
    return sum(1 for connection in client.client_list() if connection["cmd"] == "xreadgroup")


def test_two_workers_share_the_work_and_issue_each_once(client, database, work):
    both = [work("--consumer", name) for name in ("one", "two")]
    wait_until(lambda: reading(client) == 2, what="both at work")
    admit(client, 500)
    wait_until(lambda: len(coupons(database)) == 500, what="500 coupons")
    logs = [stop(process) for process in both]
    assert sum(log.count("coupons=") for log in logs) >= 5
    assert client.xpending(KEY, "coupons")["pending"] == 0 and client.xinfo_consumers(KEY, "coupons") == []


def begin_at_once(path, gate):
    loader = importlib.machinery.SourceFileLoader("coupon_worker", str(support.ROOT / "deploy" / "examples" / "coupon-worker"))
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader("coupon_worker", loader))
    loader.exec_module(module)
    gate.wait(20)
    module.Worker(argparse.Namespace(redis_url="redis://nobody", prefix="", session="s", database=path))


def test_workers_may_start_at_the_same_moment(tmp_path):
    """Of a hundred in fours some met within SQLite's few microseconds, and one of them was told that the database is locked."""
    fork = multiprocessing.get_context("fork")
    for number in range(25):
        gate = fork.Barrier(4)
        started = [fork.Process(target=begin_at_once, args=(tmp_path / f"coupons-{number}.db", gate)) for _ in range(4)]
        for process in started:
            process.start()
        for process in started:
            process.join(30)
        assert [process.exitcode for process in started] == [0] * 4


def test_a_user_with_two_places_has_one_coupon_and_no_user_is_no_user(client, database, work):
    admit(client, 6, user=lambda number: f"u-{number // 2}")
    admit(client, 2, start=7)
    assert work("--once").wait(20) == 0
    assert coupons(database, "owner") == ["user:u-0", "user:u-1", "user:u-2", "user:u-3",
                                          f"place:{7:022d}", f"place:{8:022d}"]
    admit(client, 1, user=lambda number: "place:" + f"{7:022d}", start=9)  # a user cannot pass for a place
    assert work("--once").wait(20) == 0
    assert len(coupons(database)) == 7


def test_once_drains_and_ends_and_again_changes_nothing(client, database, work):
    admit(client, 250)
    admit(client, 5, kind="virtual", start=300)
    assert work("--once").wait(20) == 0
    codes = coupons(database, "code")
    assert len(codes) == 250
    client.xgroup_destroy(KEY, "coupons")  # as after a loss: everything comes again
    assert work("--once").wait(20) == 0
    assert coupons(database, "code") == codes


def test_what_was_trimmed_before_it_was_read_is_said(client, database, work):
    admit(client, 10)
    assert work("--once").wait(20) == 0
    admit(client, 10, start=11)
    client.xtrim(KEY, maxlen=4, approximate=False)
    process = work("--once")
    _, log = process.communicate(timeout=20)
    assert process.returncode == 0 and "event=admissions-missed session=s count=6" in log
    assert len(coupons(database)) == 14


def test_what_was_trimmed_after_a_dead_worker_read_it_is_said(client, database, work):
    admit(client, 10)
    client.xgroup_create(KEY, "coupons", id="0")
    client.xreadgroup("coupons", "dead", {KEY: ">"})
    client.xtrim(KEY, maxlen=7, approximate=False)
    process = work("--once", "--idle-ms", "0")
    _, log = process.communicate(timeout=20)
    assert process.returncode == 0 and "event=admissions-missed session=s count=3" in log
    assert len(coupons(database)) == 7 and client.xpending(KEY, "coupons")["pending"] == 0


def test_an_entry_that_makes_no_sense_holds_nobody_up(client, database, work):
    client.xadd(KEY, {"nonsense": "1"})
    client.xadd(KEY, {"place": "x", "ticket": "many"})
    admit(client, 1)
    process = work("--once")
    _, log = process.communicate(timeout=20)
    assert process.returncode == 0 and log.count("admission-unreadable") == 2
    assert len(coupons(database)) == 1 and client.xpending(KEY, "coupons")["pending"] == 0


def test_a_redis_that_comes_back_empty_or_is_away_is_waited_for(redis_server, client, database, work):
    process = work()
    admit(client, 3)
    wait_until(lambda: len(coupons(database)) == 3)
    redis_server.kill()
    redis_server.start()
    admit(client, 2, start=4)
    wait_until(lambda: len(coupons(database)) == 5, what="the coupons after the restart")
    stop(process)


def test_no_redis_and_once_is_a_failure(tmp_path, work):
    assert work("--once", url=f"unix://{tmp_path}/nothing.sock").wait(20) == 1
