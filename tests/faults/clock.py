"""The wall clock jumps by an hour, there and back, under the daemons or under Redis, while people wait and some are away (clock_shift.c)."""

import asyncio
import os
import pathlib
import struct
import subprocess
import time

import crowd as people
import support
from world import SESSION, World

HOUR = 3600


class FakeClock:
    """What is started within `with` has the clock that set() tells, from then on."""

    def __init__(self, folder):
        self.library, self.path = folder / "clock_shift.so", folder / "clock"
        subprocess.run(["cc", "-O1", "-shared", "-fPIC", "-o", self.library, pathlib.Path(__file__).parent / "clock_shift.c"], check=True)
        self.path.write_bytes(bytes(8))

    def set(self, seconds):
        with self.path.open("r+b") as file:
            file.write(struct.pack("l", seconds))

    def __enter__(self):
        self.before = dict(os.environ)
        asan = os.environ.get("ASAN_OPTIONS", "") + ":verify_asan_link_order=0"
        os.environ.update(LD_PRELOAD=str(self.library), CLOCK_SHIFT=str(self.path), ASAN_OPTIONS=asan.lstrip(":"))

    def __exit__(self, *_):
        os.environ.clear()
        os.environ.update(self.before)


async def watch(world, levels):
    """How many had been let in, and between which moments that was so, by a clock that nobody turns."""
    while True:
        begun = time.monotonic()
        count = world.client.xlen("session:{%s}:admissions" % SESSION)
        levels.append((begun, count, time.monotonic()))
        await asyncio.sleep(0.02)


async def differs(daemon, seconds):
    """Whether a daemon says in time that its clock is so far before Redis'."""
    for _ in range(100):
        if abs(await asyncio.to_thread(support.metric, daemon, "anteroom_clock_difference_seconds") - seconds) < 5:
            return True
        await asyncio.sleep(0.05)
    return False


async def seen(world, offset, under_redis):
    """Whether Redis, or both daemons, have the jump."""
    redis = world.client.time()[0] - time.time()
    daemons = [await differs(daemon, -offset if under_redis else offset) for daemon in world.daemons[-2:]]
    return abs(redis - (offset if under_redis else 0)) < 5 and all(daemons)


def signed_at(world, offset):
    """How many were told a token of the time that is OFFSET from now, or so."""
    return sum(abs(people.claims_of(token)["iat"] - time.time() - offset) < 300 for v in world.crowd.visitors for token in v.tokens)


def burst(levels, batch, interval_ms):
    """By how many the worst stretch exceeds a batch an interval begun and one to begin with."""
    worst, least = 0.0, None
    for begun, count, ended in levels:
        if least is not None:
            worst = max(worst, count - batch * ended * 1000 / interval_ms - least - 2 * batch)
        level = count - batch * begun * 1000 / interval_ms
        least = level if least is None else min(least, level)
    return round(worst, 1)


async def jumps(seed, under_redis):
    """Gives ledger, burst, how many tokens have times that make no sense, and of each jump whether the clocks and the tokens had it."""
    clocks = []
    world = World(seed, batch=4, intervalMs=200, tokenTtlSeconds=86400, graceMs=60000)
    world.start_redis = lambda folder: start(folder, clocks) if under_redis else support.RedisServer(folder)
    async with world:
        clock = clocks[0] if under_redis else FakeClock(world.folder.path)
        if under_redis:
            await world.publisher(through=False)
            await world.gateway(through=False)
        else:
            with clock:
                await world.publisher(through=False)
                await world.gateway(through=False)
        levels = []
        work = [asyncio.ensure_future(world.crowd.keep(120)), asyncio.ensure_future(watch(world, levels)),
                asyncio.ensure_future(world.crowd.churn(0.05, 0))]
        await world.crowd.until(lambda: len(world.crowd.in_state("waiting")) >= 80, 60, "a crowd")
        jumped = []
        for offset in (HOUR, 0, -HOUR, 0):
            clock.set(offset)
            jumped.append(await seen(world, offset, under_redis))
            before, dated = len(world.crowd.in_state("entered")), offset if under_redis else 0
            told = signed_at(world, dated)
            await world.crowd.until(lambda before=before: len(world.crowd.in_state("entered")) > before + 20, 30, "admissions to go on")
            jumped[-1] = jumped[-1] and signed_at(world, dated) > told
        for task in work:
            task.cancel()
        await world.crowd.settle()
        now = time.time()
        odd = 0
        for visitor in world.crowd.visitors:
            for token in visitor.tokens:
                claims = people.claims_of(token)
                odd += not (claims["exp"] - claims["iat"] == 86400 and abs(claims["iat"] - now) < HOUR + 300)
        ledger = world.count()
        ledger.too_many = 0  # Redis' own times jump: counted by a clock of our own
        return ledger, burst(levels, 4, 200), odd, jumped


async def naive(seed):
    """The control: a stand-in whose bucket fills by the wall clock, which jumps forth by an hour. Gives the burst."""
    async with World(seed, batch=4, intervalMs=200) as world:
        clock = FakeClock(world.folder.path)
        await world.gateway(through=False)
        world.crowd.arrive(120)
        await world.crowd.until(lambda: len(world.crowd.in_state("waiting")) == 120, 60, "a crowd")
        levels = []
        work = asyncio.ensure_future(watch(world, levels))
        with clock:
            world.naive("wall")
        await world.crowd.until(lambda: len(world.crowd.in_state("entered")) >= 20, 30, "the first entries")
        clock.set(HOUR)
        await world.crowd.until(lambda: len(world.crowd.in_state("entered")) == 120, 30, "the rest")
        work.cancel()
        return burst(levels, 4, 200)


def start(folder, clocks):
    clocks.append(FakeClock(pathlib.Path(folder)))
    with clocks[0]:
        return support.RedisServer(folder)
