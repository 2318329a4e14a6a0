"""Gateways that die, freeze, lose Redis, drain, and are restarted one after the other, under thousands of connections."""

import asyncio
import signal
import time

from world import World

FAULT_S = 7.0  # longer than the 5 s after which a silent gateway's places are parked


async def gather(world, size):
    for begun in range(0, size, 250):
        world.crowd.arrive(min(250, size - begun))
        await world.crowd.until(lambda: not world.crowd.in_state("new"), 60, "a place for everybody")


async def all_back(world):
    """How long it takes until everybody who was there is there again (s)."""
    begun = time.monotonic()
    await world.crowd.until(lambda: not world.crowd.in_state("new", "away"), 120, "everybody to be back")
    return round(time.monotonic() - begun, 1)


async def kill(world, victim):
    world.urls.remove(victim.public)
    victim.kill()
    await world.crowd.until(lambda: all(v.url != victim.public for v in world.crowd.in_state("waiting")), 10, "everybody to notice")


async def freeze(world, victim):
    victim.signal(signal.SIGSTOP)
    await asyncio.sleep(FAULT_S)
    victim.signal(signal.SIGCONT)


async def partition(world, victim):
    world.breaker.partitioned.add(victim.process.pid)
    await asyncio.sleep(FAULT_S)
    world.breaker.partitioned.discard(victim.process.pid)


async def drain(world, victim):
    world.crowd.patient = True
    victim.signal(signal.SIGTERM)
    await asyncio.sleep(0.3)  # the load balancer notices
    world.urls.remove(victim.public)
    code = await asyncio.to_thread(victim.exit_code, 60)
    assert code == 0, f"a drained gateway ended with {code}"


async def harmed(seed, size, harm, forgetful=False):
    """SIZE people on two gateways, one of which HARM befalls; the other stays. Gives ledger and seconds until all were back."""
    async with World(seed, status="paused", batch=100, intervalMs=100) as world:
        owner = await world.publisher(through=False)
        victim, _ = await world.gateway(drain_notice_s=1, drain_s=3), await world.gateway(through=False)
        await gather(world, size)
        world.crowd.forgetful = forgetful
        await harm(world, victim)
        took = await all_back(world)
        wrong = await world.exact()
        if not forgetful:
            await world.set(owner, status="open")
            await world.crowd.settle()
        return world.count(wrong), took


async def rolling(seed, size, drain_s):
    """Three gateways, each replaced by a new one while people come, wait, and are let in. Gives ledger and reconnects a tenth of a second."""
    async with World(seed, batch=max(1, size // 200), intervalMs=200) as world:
        owner = await world.publisher(through=False)
        old = [await world.gateway(through=False, drain_notice_s=1, drain_s=drain_s) for _ in range(3)]
        await world.set(owner, status="paused")
        await gather(world, size)
        await world.set(owner, status="open")
        arrivals = asyncio.ensure_future(world.crowd.keep(size))
        for victim in old:
            await world.gateway(through=False)
            await drain(world, victim)
        arrivals.cancel()
        await world.set(owner, status="paused")
        await all_back(world)
        wrong = await world.exact()
        await world.set(owner, status="open", batch=500)
        before = world.count(wrong)
        await world.crowd.settle()
        ledger = world.count(wrong)
        ledger.too_many = before.too_many  # it is emptied faster than it was run
        return ledger, world.crowd.came_back
