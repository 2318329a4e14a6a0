"""Redis itself is harmed, one way after the other, while people wait, come, leave and are let in. Nothing it had said yes to is lost here;
what becomes of data that is lost is for test_loss, test_failover and test_aof."""

import asyncio
import collections
import contextlib
import itertools
import time

import redis
import support
from world import SESSION, World

STREAMS = "server:gw-%d:stream"


class Harm:
    """What is done to the Redis of one world; each is over, and Redis well again, when it returns."""

    def __init__(self, world, answers):
        self.world, self.client, self.done = world, world.client, collections.Counter()
        self.answers = answers  # how many are lost each time

    async def every(self, pause_s, seconds, act):
        """ACT again and again for so long."""
        until = time.monotonic() + seconds
        for turn in itertools.count():
            act(turn)
            if time.monotonic() > until:
                return
            await asyncio.sleep(pause_s)

    # ---- answers ----

    async def answers_are_lost(self):
        """One in fifty commands is carried out and its answer withheld: half of the connections break, half fall silent."""
        self.world.breaker.loss = 0.02
        before = sum(self.world.breaker.lost.values())
        await self.world.crowd.until(lambda: sum(self.world.breaker.lost.values()) >= before + self.answers, 120, "lost answers")
        self.world.breaker.loss = 0.0

    async def hangs(self, seconds=10):
        self.world.redis.pause()
        await asyncio.sleep(seconds)  # the fault itself lasts so long
        self.world.redis.resume()

    async def hangs_shortly(self):
        await self.hangs(3)

    # ---- the process ----

    async def killed(self):
        """What it had said yes to is in the log's file, though not yet on the disk."""
        self.world.redis.kill()
        await asyncio.to_thread(self.world.redis.start)

    async def loading(self):
        """It is back and answers LOADING for seconds."""
        self.client.bgrewriteaof()  # else a key is loaded as often as it was written
        await self.world.crowd.until(lambda: not self.client.info("persistence")["aof_rewrite_in_progress"], 20, "a short log")
        self.world.redis.kill()
        self.world.redis.arguments += ("--key-load-delay", "300000", "--loading-process-events-interval-bytes", "1024")
        start = asyncio.ensure_future(asyncio.to_thread(self.world.redis.start))
        while not start.done():
            with contextlib.suppress(redis.RedisError), redis.Redis(unix_socket_path=str(self.world.redis.socket)) as other:
                self.done["seen loading"] += other.info("persistence")["loading"]
            await asyncio.sleep(0.1)
        await start
        self.world.redis.arguments = self.world.redis.arguments[:-4]

    async def full(self):
        self.client.config_set("maxmemory", 1)
        await asyncio.sleep(3)  # the fault itself lasts so long
        self.client.config_set("maxmemory", 0)

    async def read_only(self):
        """A replica of nobody: it has all data and takes no writes, as one that a failover has left behind."""
        self.client.execute_command("REPLICAOF", "127.0.0.1", 1)
        with contextlib.suppress(redis.exceptions.ReadOnlyError):
            self.client.set("x", 1)
            raise AssertionError("it should take no writes")
        await asyncio.sleep(3)  # the fault itself lasts so long
        self.client.execute_command("REPLICAOF", "NO", "ONE")

    async def connections_cut(self):
        await self.every(0.1, 4, lambda turn: self.client.client_kill_filter(_type="normal", skipme=True))

    # ---- what is in it ----

    async def scripts_flushed(self):
        await self.every(0.2, 4, lambda turn: self.client.script_flush())

    async def streams_deleted(self):
        await self.every(0.1, 5, lambda turn: self.client.delete(*[STREAMS % n for n in range(1, 4)]))

    async def streams_trimmed(self):
        await self.every(0.1, 5, lambda turn: [self.client.xtrim(STREAMS % n, maxlen=0, approximate=False) for n in range(1, 4)])

    async def groups_destroyed(self):
        def destroy(_):
            for n in range(1, 4):
                with contextlib.suppress(redis.ResponseError):
                    self.client.xgroup_destroy(STREAMS % n, "gateway")
        await self.every(0.1, 5, destroy)

    async def poisoned(self):
        def poison(turn):
            for n in range(1, 4):
                field = self.world.chance.choice(("type", "session", "epoch", "place", "token", "rev"))
                entry = {"type": self.world.chance.choice(("entry", "waiting-state", "closed", "superseded", "drawn", "notice", "?")),
                         "session": SESSION, "epoch": turn, "rev": 1 << 52, "place": "A" * 22, "token": "x", "gen": 1 << 31,
                         field: self.world.chance.randbytes(self.world.chance.randrange(40)) or b"\0"}
                self.client.xadd(STREAMS % n, entry)
        await self.every(0.01, 4, poison)


HARMS = [name for name, value in vars(Harm).items() if asyncio.iscoroutinefunction(value) and name != "every"]
SHORT = ("answers_are_lost", "killed", "read_only", "poisoned")


async def harmed(seed, rounds, names, answers):
    """Gives the ledger, {harm: the longest time after it until somebody was let in again}, and what was done how often."""
    async with World(seed, redis=("--appendonly", "yes", "--appendfsync", "everysec"), batch=5, intervalMs=100) as world:
        publishers = [await world.publisher(f"p-{n}", lease_ms=1000) for n in range(2)]
        gateways = [await world.gateway() for _ in range(3)]
        harm, recovered = Harm(world, answers), collections.defaultdict(float)
        work = [asyncio.ensure_future(world.crowd.keep(150)), asyncio.ensure_future(world.crowd.churn(0.05, 0.2))]
        await world.crowd.until(lambda: len(world.crowd.in_state("waiting")) >= 100, 60, "a crowd")
        for _ in range(rounds):
            for name in world.chance.sample(names, len(names)):
                await getattr(harm, name)()
                harm.done[name] += 1
                over, before = time.monotonic(), len(world.crowd.in_state("entered"))
                await world.crowd.until(lambda before=before: len(world.crowd.in_state("entered")) >= before + 10, 60, f"admissions after {name}")
                recovered[name] = max(recovered[name], time.monotonic() - over)
        for task in work:
            task.cancel()
        await world.set(publishers[0], status="paused")
        wrong = await world.exact()
        await world.set(publishers[0], status="open")
        await world.crowd.settle()
        harm.done["messages refused"] = sum(int(support.metric(daemon, "anteroom_messages_bad_total")) for daemon in gateways)
        harm.done["answers withheld"] = sum(world.breaker.lost.values())
        return world.count(wrong), recovered, harm.done


async def naive(seed, times):
    """The control: no outbox, and what a lost answer named is gone."""
    async with World(seed, batch=5, intervalMs=100) as world:
        for _ in range(2):
            await world.gateway(through=False)
        arrivals = asyncio.ensure_future(world.crowd.keep(120))
        await world.crowd.until(lambda: len(world.crowd.in_state("waiting")) >= 100, 60, "a crowd")
        for _ in range(times):
            daemon = world.naive()
            world.breaker.loss, before = 0.05, sum(world.breaker.lost.values())
            await world.crowd.until(lambda before=before: sum(world.breaker.lost.values()) > before, 30, "a lost answer")
            world.breaker.loss = 0.0
            world.forget(daemon)
        arrivals.cancel()
        world.naive()
        await world.crowd.settle()
        return world.count()
