"""kill -9 right before and right after every single Redis call of the publisher's tick and of the gateway's work."""

import asyncio
import signal

from world import World

GATEWAY_CALLS = ("join", "resume", "park", "leave", "XREADGROUP", "XACK", "sync", "ZADD", "HMGET")


async def publisher(seed, kills, naive=False):
    """Each life of the publisher ends at call n, counted from its first, second or fourth admit."""
    async with World(seed, batch=3, intervalMs=50) as world:
        for _ in range(2):
            await world.gateway(through=False)
        begin, calls = ("ZPOPMIN", 16) if naive else ("admit", 18)
        points = [(n, when, life) for n in range(1, calls + 1) for when in ("before", "after") for life in (1, 2, 4)]
        world.chance.shuffle(points)
        arrivals = asyncio.ensure_future(world.crowd.keep(120))
        await world.crowd.until(lambda: len(world.crowd.in_state("waiting")) >= 100, 60, "a crowd")
        for number in range(kills):
            n, when, life = points[number % len(points)]
            # Now and then another machine takes over, after the lease.
            daemon = world.naive() if naive else await world.publisher(f"p-{number // 10}", wait=False)
            trap = world.breaker.trap(daemon, n, when, begin=begin, life=life)
            await asyncio.wait_for(trap.sprung, 30)
            world.forget(daemon)
        arrivals.cancel()
        last = world.naive() if naive else await world.publisher("last")
        del last
        await world.crowd.settle()
        return world.count(), world.breaker.struck


async def gateway(seed, kills):
    """Each life of a gateway ends at the k-th call of a kind; the others and the publisher go on."""
    async with World(seed, batch=10, intervalMs=300) as world:
        owner = await world.publisher(through=False)
        await world.gateway(through=False)
        work = [asyncio.ensure_future(world.crowd.keep(150)), asyncio.ensure_future(world.crowd.churn(0.02, 0.2))]
        points = [(call, when, k) for k in (1, 2, 7) for call in GATEWAY_CALLS for when in ("before", "after")]
        for number in range(kills):
            call, when, k = points[number % len(points)]
            victim = await world.gateway(serve=False)
            trap = world.breaker.trap(victim, k, when, matches=lambda name, call=call: name == call)
            world.urls += [victim.public] * 2
            await asyncio.wait([trap.sprung], timeout=4)
            if not trap.sprung.done():  # that call did not come: it dies all the same
                world.breaker.struck["no " + call, when] += 1
            while victim.public in world.urls:
                world.urls.remove(victim.public)
            world.forget(victim)
        for task in work:
            task.cancel()
        await world.set(owner, status="paused")
        wrong = await world.exact()
        await world.set(owner, status="open")
        await world.crowd.settle()
        return world.count(wrong), world.breaker.struck


async def draining(seed, kills):
    """A gateway that was told to end dies at the k-th place it parks. Nobody else loses a connection: each park is the drain's."""
    async with World(seed, batch=2, intervalMs=100) as world:
        await world.publisher(through=False)
        await world.gateway(through=False)
        arrivals = asyncio.ensure_future(world.crowd.keep(60))
        points = [(when, k) for k in (1, 2, 3, 7) for when in ("before", "after")]
        for number in range(kills):
            when, k = points[number % len(points)]
            victim = await world.gateway(drain_s=1)
            await world.crowd.until(lambda victim=victim: sum(v.url == victim.public for v in world.crowd.in_state("waiting")) >= 12,
                                    30, "connections on the gateway that is to end")
            trap = world.breaker.trap(victim, k, when, matches=lambda name: name == "park")
            world.urls.remove(victim.public)
            victim.process.send_signal(signal.SIGTERM)
            await asyncio.wait_for(trap.sprung, 10)
            world.forget(victim)
        arrivals.cancel()
        await world.crowd.settle()
        return world.count(), world.breaker.struck
