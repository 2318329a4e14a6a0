"""Redis' log cut at any byte: what it comes back with is a state that was, never half of a step.

Some bytes are drawn by a seed that is printed; ANTEROOM_SEED=n repeats them, ANTEROOM_AOF=every takes every byte (a quarter of an hour).
"""

import os
import pathlib
import random
import shutil
import subprocess

import redis

from support import RedisServer, Scripts, wait_until

SESSION, KEY = "s", "session:{s}:"
LOG_MIN = 40000
SAMPLE = 150


def busy_line(scripts, random):
    """Everything that can happen to a line, a few times."""
    settled, rev, epoch, places = [], 0, 0, []
    for step in range(20):
        wish = random.random()
        if wish < 0.55:
            places.append(scripts.join(SESSION, "gw.boot", user=f"u{random.getrandbits(40)}" if step % 3 else "", mode=random.choice(("stream", "poll"))))
        elif wish < 0.65 and places:
            place = random.choice(places)
            scripts.run("park", SESSION, place, f"boot:{place[:6]}", "", "")
        elif wish < 0.75 and places:
            scripts.run("leave", SESSION, random.choice(places), 0)
        elif wish < 0.8 and places:
            scripts.run("resume", SESSION, random.choice(places), "gx.boot", f"x:{step}", "stream", "", 0, 0)
        else:
            reply = scripts.run("admit", SESSION, "p", 5000, 5000, "run", 0, 0, epoch, rev, "", "", random.randrange(4), *settled)
            epoch, rev, outbox = reply[1], reply[2], reply[24]
            words = [word for place, ends in zip(outbox[::5], outbox[4::5]) for word in (place, f"token.{place}.x", ends)]
            settled = scripts.run("settle", SESSION, *words)[::3] if words else []


def check(client):
    """Each ticket is in exactly one state, and all keys tell the same story."""
    state = client.hgetall(KEY + "state")
    if not state or not client.exists(KEY + "config"):
        assert not client.exists(KEY + "waiting", KEY + "places", KEY + "outbox")
        return 0
    waiting = dict(client.zrange(KEY + "waiting", 0, -1, withscores=True))
    outbox = dict(client.zrange(KEY + "outbox", 0, -1, withscores=True))
    admitted = [fields for _, fields in client.xrange(KEY + "admissions")]
    places, entries, active = client.hgetall(KEY + "places"), client.hgetall(KEY + "entries"), dict(client.zrange(KEY + "active", 0, -1, withscores=True))
    tail, head, base = (int(state[name]) for name in ("tail", "head", "base"))
    tickets = sorted(int(score) for score in waiting.values())
    assert len(set(tickets)) == len(tickets) and (not tickets or head < tickets[0] and tickets[-1] <= tail)
    assert not set(waiting) & set(outbox) and set(waiting) <= set(places) and set(outbox) <= set(active)
    inside = [int(fields["ticket"]) for fields in admitted]
    assert inside == sorted(set(inside)) and len(inside) == int(state["admitted"]) and (not inside or inside[-1] == head)
    assert {fields["place"] for fields in admitted} == set(active) and set(entries) | set(outbox) == set(active)
    bits = {base + n for n in range(8 * client.strlen(KEY + "departed")) if client.getbit(KEY + "departed", n)}
    for ticket in range(max(head, base) + 1, tail + 1):
        assert (ticket in tickets) != (ticket in bits), f"ticket {ticket} waits and left, or neither"
    for user, place in client.hgetall(KEY + "users").items():
        assert place in places and places[place].split("\t")[5] == user
    assert set(client.zrange(KEY + "parked", 0, -1)) <= set(waiting)
    return tail


class Cut:
    """The log of a server that is gone, cut anywhere and loaded again."""

    def __init__(self, folder, log):
        self.folder, self.log = folder, log
        self.whole = (log / "appendonly.aof.1.incr.aof").read_bytes()

    def load(self, length):
        """What CHECK finds with the first LENGTH bytes."""
        shutil.rmtree(self.folder / "appendonlydir", ignore_errors=True)
        shutil.copytree(self.log, self.folder / "appendonlydir")
        (self.folder / "appendonlydir" / "appendonly.aof.1.incr.aof").write_bytes(self.whole[:length])
        socket = self.folder / "cut.sock"
        process = subprocess.Popen(["redis-server", "--port", "0", "--unixsocket", str(socket), "--dir", str(self.folder), "--save", "",
                                    "--appendonly", "yes", "--aof-load-truncated", "yes"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        client = redis.Redis(unix_socket_path=str(socket), decode_responses=True)
        try:
            wait_until(lambda: answers(client, process), what="the cut log")
            return check(client)
        finally:
            process.kill()
            process.wait()
            client.close()
            socket.unlink(missing_ok=True)


def answers(client, process):
    assert process.poll() is None, "redis-server refuses the log"
    try:
        return client.info("server")["process_id"] == process.pid and client.ping()  # while it loads it answers the first only
    except (redis.ConnectionError, redis.exceptions.BusyLoadingError):
        return False


def test_a_log_cut_at_any_byte_is_a_state_that_was(tmp_path, capsys):
    seed = int(os.environ.get("ANTEROOM_SEED", random.randrange(1 << 32)))
    source = random.Random(seed)
    first, second = tmp_path / "a", tmp_path / "b"
    first.mkdir()
    second.mkdir()
    server = RedisServer(first, "--appendonly", "yes", "--appendfsync", "no")
    try:
        scripts = Scripts(server.client)
        server.client.script_flush()
        config = ["batch", 1000, "intervalMs", 86400000, "graceMs", 40, "tokenTtlSeconds", 600]
        scripts.run("configure", SESSION, "create", "absent", "", "op", "create", "{}", "seed", "hash", *config)
        log = pathlib.Path(first / "appendonlydir")
        while (log / "appendonly.aof.1.incr.aof").stat().st_size < LOG_MIN:
            busy_line(scripts, source)
            server.client.execute_command("PING")
        check(server.client)
        assert int(server.client.hget(KEY + "state", "admitted")) >= 10 and server.client.hlen(KEY + "entries") > 0
    finally:
        server.close()
    cut = Cut(second, log)
    size = len(cut.whole)
    every = os.environ.get("ANTEROOM_AOF") == "every"
    lengths = range(size + 1) if every else sorted(source.sample(range(size + 1), SAMPLE))
    tails = [cut.load(length) for length in lengths]
    assert tails == sorted(tails) and tails[-1] > 30, "a longer log knows more"
    with capsys.disabled():
        print(f"\n  seed {seed}: a log of {size} bytes, cut at {len(tails)}: each time a state that was")
