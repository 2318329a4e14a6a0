"""A gateway whose descriptors run out: it does not spin, serves those who are in, keeps Redis, and recovers at once."""

import asyncio
import collections
import contextlib
import dataclasses
import resource
import time

import clients
import targets

LOOK_S = 2.0  # how long its CPU is looked at


@dataclasses.dataclass
class Full:
    most: int  # connections it takes by itself
    streams: int  # that are open
    answers: collections.Counter  # those past the limit by what they heard
    busy: float  # share of a core while full
    told: int  # streams that heard what was announced while full
    redis: bool  # its connections to Redis, cut while full, came back


def sort(data):
    if b"event: unavailable" in data and b"retry: " in data:
        return "told to come back"
    return "a stream" if b"event: waiting-state" in data else "closed" if not data else "something else"


async def knock(target, count):
    """COUNT more who want in. Gives the sockets of those who are, and what the others heard."""
    ends = []
    for _ in range(count):
        with contextlib.suppress(OSError):
            ends.append(await target.connect(targets.STREAM))
    answers, inside = collections.Counter({"closed": count - len(ends)}), []
    heard = collections.defaultdict(bytes)
    def whole(end):
        heard[end] += targets.heard(end)
        return sort(heard[end]) != "closed" or targets.closed(end)
    await target.until(lambda: all([whole(end) for end in ends]), 5)
    for end in ends:
        answers[sort(heard[end])] += 1
        if sort(heard[end]) == "a stream":
            inside.append(end)
        else:
            end.close()
    return inside, answers


async def busy(target):
    """Its share of a core while one more knocks twenty times a second."""
    before, begun = target.cpu(), time.monotonic()
    while time.monotonic() - begun < LOOK_S:
        with contextlib.suppress(OSError):
            (await target.connect()).close()
        await asyncio.sleep(0.05)
    return (target.cpu() - before) / (time.monotonic() - begun)


async def told(target, ends):
    """How many hear what is announced now."""
    for end in ends:
        targets.heard(end)
    await target.announce()
    heard = collections.defaultdict(bytes)
    def all_heard():
        for end in ends:
            heard[end] += targets.heard(end)
        return all(b"event: notice" in heard[end] for end in ends)
    await target.until(all_heard, 5)
    return sum(b"event: notice" in heard[end] for end in ends)


async def cut_redis(target):
    """Its connections to Redis break; whether they are there again in time."""
    log = target.gateway.logged
    before, mine = len(log("redis-up")), [row for row in target.client.client_list() if row["name"].startswith("anteroom-gateway")]
    for row in mine:
        target.client.client_kill_filter(_id=row["id"])
    return len(mine) == 2 and await target.until(lambda: len(log("redis-up")) > before and len(
        [row for row in target.client.client_list() if row["name"].startswith("anteroom-gateway")]) == 2, 10)


def lowest_free(target):
    taken = {int(entry.name) for entry in (target.proc / "fd").iterdir()}
    return next(number for number in range(1 << 20) if number not in taken)


async def look(target, most, ends, more):
    inside, answers = await knock(target, more)
    ends += inside
    return Full(most, len(ends), answers, await busy(target), await told(target, ends), await cut_redis(target))


async def run_out(seed, limit):
    """A gateway with LIMIT descriptors, full by its own count; then with none left at all. Gives both, and ms until a newcomer enters
    once the streams are gone."""
    async with clients.site(seed) as (world, admin):
        gateway = await world.gateway(through=False, descriptors=limit)
        target, most = targets.Target(gateway, world.client, admin), limit - 64
        idle = target.descriptors()
        ends, _ = await knock(target, most // 2)
        capped = await look(target, most, ends, 5 * limit)
        resource.prlimit(gateway.process.pid, resource.RLIMIT_NOFILE, (lowest_free(target), limit))
        none_left = await look(target, most, ends, 5 * limit)
        for end in ends:
            end.close()
        await target.until(lambda: target.descriptors() <= idle, 10)
        begun = time.monotonic()
        world.crowd.arrive(1)
        await world.crowd.until(lambda: world.crowd.in_state("entered"), 10, "a newcomer")
        again_ms = (time.monotonic() - begun) * 1000
        await asyncio.to_thread(gateway.stop)
        return capped, none_left, again_ms
