"""Two and three publishers: the owner is frozen for 0.2 to 3 leases at a call of its tick, another takes over, and it wakes."""

import asyncio
import signal

from world import World


async def frozen(seed, count, freezes):
    """COUNT publishers; gives the ledger, where they were frozen, and how often another one had taken over meanwhile."""
    async with World(seed, batch=6, intervalMs=200) as world:
        for _ in range(2):
            await world.gateway(through=False)
        publishers = {f"p-{n}": await world.publisher(f"p-{n}") for n in range(count)}
        arrivals = asyncio.ensure_future(world.crowd.keep(120))
        await world.crowd.until(lambda: len(world.crowd.in_state("waiting")) >= 60, 60, "a crowd")
        taken_over = 0
        for _ in range(freezes):
            await world.crowd.until(lambda: world.state("owner") in publishers, 10, "an owner")
            name = world.state("owner")
            daemon = publishers[name]
            trap = world.breaker.trap(daemon, world.chance.randint(1, 12), world.chance.choice(("before", "after")), begin="admit",
                                      number=signal.SIGSTOP)
            await asyncio.wait([trap.sprung], timeout=10)
            await asyncio.sleep(0.5 * world.chance.uniform(0.2, 3))  # how long it is frozen
            taken_over += world.state("owner") != name
            daemon.signal(signal.SIGCONT)
        arrivals.cancel()
        await world.set(publishers["p-0"], status="paused")
        wrong = await world.exact()
        await world.set(publishers["p-0"], status="open")
        await world.crowd.settle()
        stale = sum(len(daemon.logged("tick-stale")) for daemon in publishers.values())
        return world.count(wrong), world.breaker.struck, taken_over, stale


async def naive(seed):
    """The control: two stand-ins without a lease, each with a bucket of its own."""
    async with World(seed, batch=6, intervalMs=200) as world:
        await world.gateway(through=False)
        arrivals = asyncio.ensure_future(world.crowd.keep(120))
        await world.crowd.until(lambda: len(world.crowd.in_state("waiting")) >= 100, 60, "a crowd")
        for _ in range(2):
            world.naive()
        await world.crowd.until(lambda: len(world.crowd.in_state("entered")) >= 150, 60, "150 entries")
        arrivals.cancel()
        return world.count()
