"""One of two gateways dies, and all of its streams come back to the other at once, while newcomers from one address press in (storm.c)."""

import asyncio
import dataclasses
import math
import pathlib
import re
import subprocess

import requests

import clients
import crowd as people
import targets

PROCESSES = 2  # each has its own descriptors


@dataclasses.dataclass
class Storm:
    streams: int
    took: float  # seconds until all were back
    connects: int  # within two seconds
    refused: int  # attempts to come back that were refused; they came again
    strangers: int  # newcomers who were refused
    moved: int  # came back to another place or number
    rises: int
    waiting: int  # in the line afterwards: everybody, and the newcomers who got in
    parked: int  # of them without a connection, when the dead gateway was buried
    gateway: int  # the survivor's resident memory with all of them, bytes
    publisher: int
    newcomers: clients.Newcomers
    entry_ms: float  # from the admission to the frame, 99th percentile while they came back: no more than this


def build(folder):
    program = folder / "storm"
    subprocess.run(["cc", "-O2", "-D_GNU_SOURCE", "-o", program, pathlib.Path(__file__).parent / "storm.c"], check=True)
    return program


class Crowd:
    """The processes of one run."""

    def __init__(self, program, gateways, streams, extra, seed):
        ports = [gateway.public.rsplit(":", 1)[1] for gateway in gateways]
        self.all = [subprocess.Popen([program, *ports, str(streams // PROCESSES), str(extra // PROCESSES), targets.LINE, str(seed + number)],
                                     stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) for number in range(PROCESSES)]

    async def say(self, word, timeout):
        """The figures behind WORD of each."""
        lines = await asyncio.wait_for(asyncio.gather(*(asyncio.to_thread(one.stdout.readline) for one in self.all)), timeout)
        assert all(line.split()[:1] == [word] for line in lines), lines
        return [[int(figure) for figure in line.split()[1:]] for line in lines]

    def lines(self):
        """First ticket, last ticket, rises of each visitor. They are gone then."""
        return [line.split() for one in self.all for line in one.communicate("")[0].splitlines()]

    def kill(self):
        for one in self.all:
            one.kill()
            one.wait()


def delivered(gateway):
    """How many entries were written within so many seconds of their admission."""
    text = requests.get(gateway.url("metrics") + "/metrics", timeout=5).text
    return {float(bound): float(count) for bound, count in
            re.findall(r'^anteroom_entry_delivery_seconds_bucket{le="([^"]+)"} (\S+)$', text, re.M)}


def p99_ms(before, after):
    least = 0.99 * (after[math.inf] - before[math.inf])
    return 1000 * min(bound for bound in after if after[bound] - before[bound] >= least)


async def storm(seed, streams, extra):
    async with clients.site(seed) as (world, admin):
        both = [await world.gateway(through=False, trusted_proxies="127.0.0.0/8", join_limit="5/10", join_limit_exempt="127.0.0.0/8")
                for _ in range(2)]
        world.crowd.arrive(1)
        await world.crowd.until(lambda: world.crowd.in_state("entered"), 20, "the first entry")
        target = targets.Target(both[1], world.client, admin)
        crowd = Crowd(build(world.folder.path), both, streams, extra, seed)
        try:
            await crowd.say("ready", 120)
            with clients.newcomers(both[1]) as found:
                await asyncio.sleep(2)
                before = await asyncio.to_thread(delivered, both[1])
                both[0].kill()
                figures = await crowd.say("back", 120)
                after = await asyncio.to_thread(delivered, both[1])
                await asyncio.sleep(4)
            await target.until(lambda: len(world.client.zrange("servers", 0, -1)) == 1, 20)  # the dead one's places are parked
            waiting, parked, memory = target.waiting(), target.parked(), [targets.resident(daemon) for daemon in (both[1], world.owner)]
            lines = await asyncio.to_thread(crowd.lines)
        finally:
            crowd.kill()
        claims = [(people.claims_of(first), people.claims_of(last), int(rises)) for first, last, rises in lines]
        moved = sum((first["place"], first["ticket"]) != (last["place"], last["ticket"]) for first, last, _ in claims)
        return Storm(len(lines), max(row[0] for row in figures) / 1000, sum(row[1] for row in figures), sum(row[3] for row in figures),
                     sum(row[4] for row in figures), moved, sum(rises for *_, rises in claims), waiting, parked, *memory, found[0], p99_ms(before, after))
