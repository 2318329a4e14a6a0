"""Hostile and broken clients against a gateway, while newcomers want to get in."""

import asyncio
import contextlib
import dataclasses
import pathlib
import subprocess
import sys

import requests

import attacks
import support
import targets
from world import SESSION, World


@dataclasses.dataclass
class Newcomers:
    p50: float
    p99: float
    worst: float
    entered: float
    refused: float
    late: float  # of the process that measures: what the machine adds

    def __str__(self):
        return (f"{self.entered:.0f} newcomers let in, {self.refused:.0f} not, p50 {self.p50:.1f} ms, p99 {self.p99:.1f} ms, "
                f"worst {self.worst:.1f} ms (the probe itself late by {self.late:.1f} ms)")


@contextlib.contextmanager
def newcomers(gateway):
    """Gives a list that has them when they have ended."""
    found = []
    host, port = gateway.public.removeprefix("http://").split(":")
    probe = subprocess.Popen([sys.executable, str(pathlib.Path(__file__).parent / "probe.py"), host, port, SESSION],
                             stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    try:
        yield found
        out, _ = probe.communicate()
        found.append(Newcomers(*map(float, out.split())))
    finally:
        probe.kill()


@dataclasses.dataclass
class Row:
    """What one attack did. Bytes."""

    name: str
    count: int
    before: int
    peak: int
    kernel: int
    ceilings: tuple  # a connection's, user and kernel; None where there is none of its own
    newcomers: Newcomers
    proof: list


async def stand(seconds, act=None):
    loop = asyncio.get_running_loop()
    end = loop.time() + seconds
    while loop.time() < end:
        if act:
            await act()
        await asyncio.sleep(0.1)


async def attacked_by(kind, target, size, chance, short, seconds):
    before, peak = target.resident(), 0
    attack = kind(target, size, chance, short)

    async def act():
        nonlocal peak
        await attack.go_on()
        peak = max(peak, target.resident())
    with newcomers(target.gateway) as found:
        await asyncio.sleep(0.3)  # they are on their way
        await attack.begin()
        await stand(seconds if short else max(seconds, attack.least_s), act)
        kernel = target.kernel() if kind.kernel_bytes else 0
    proof = [row async for row in attack.proof()]
    await attack.end()
    freed = await target.until(lambda: target.descriptors() <= attack.before, 12)
    proof.append(("all descriptors freed", freed))
    return Row(kind.__doc__, attack.count, before, peak, kernel, (kind.user_bytes, kind.kernel_bytes), found[0], proof)


async def nobody(target, seconds):
    before = target.resident()
    with newcomers(target.gateway) as found:
        await stand(seconds)
    return Row("nothing", 0, before, target.resident(), 0, (None, None), found[0], [])


@contextlib.asynccontextmanager
async def site(seed):
    """A World with a line where people get in at once, and one where nobody does; its admin API."""
    async with World(seed, batch=500, intervalMs=50) as world:
        world.owner = await world.publisher(through=False)
        admin = support.Admin(world.owner.url("admin"))
        await asyncio.to_thread(admin.create, targets.LINE, status="paused", graceMs=600000)
        yield world, admin
        admin.close()


async def attacked(seed, size, short):
    """A row an attack, each on a gateway of its own, which must end well; the first row is without one."""
    rows = []
    async with site(seed) as (world, admin):
        for kind in (None, *attacks.ALL):
            gateway = await world.gateway(through=False)
            world.crowd.arrive(1)  # the session is known to everybody then
            await world.crowd.until(lambda: not world.crowd.present(), 20, "the first entry")
            target = targets.Target(gateway, world.client, admin)
            if kind:
                rows.append(await attacked_by(kind, target, size, world.chance, short, 0.5 if short else 8))
            else:
                rows.append(await nobody(target, 1.5 if short else 8))
            await asyncio.to_thread(gateway.stop)  # 0: what was leaked would show
            world.forget(gateway)
    return rows


async def sessions(seed, count):
    """Bytes of gateway and publisher for each of COUNT sessions in which somebody waits."""
    async with World(seed) as world:
        daemons = await world.gateway(through=False), await world.publisher(through=False, tick_ms=1000)
        admin = support.Admin(daemons[1].url("admin"))
        before = [targets.resident(daemon) for daemon in daemons]
        await asyncio.to_thread(fill, admin, daemons[0].public, count)
        text = lambda: requests.get(daemons[1].url("metrics") + "/metrics", timeout=5).text  # noqa: E731
        await asyncio.to_thread(support.wait_until, lambda: text().count("anteroom_session_waiting{") > count, 30, "all to be owned")
        admin.close()
        return [(targets.resident(daemon) - was) / count for daemon, was in zip(daemons, before)]


def fill(admin, url, count):
    with requests.Session() as http:
        for number in range(count):
            admin.create(f"s{number}", status="paused")
            assert http.post(f"{url}/api/queue/join?sessionId=s{number}", timeout=10).status_code == 200
            http.cookies.clear()  # else each ticket goes along from then on
