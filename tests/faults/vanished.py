"""Clients whose network is gone without a word: the gateway must notice by itself, and keep their places."""

import asyncio
import dataclasses
import re
import socket
import time

import clients
import crowd as people
import network
import targets

STALL_S = 30  # bytes that nobody acknowledges


async def first_ticket(end):
    loop, data = asyncio.get_running_loop(), b""
    while not (found := re.search(rb"\nid: (\S+)\r?\n", data)):
        data += await asyncio.wait_for(loop.sock_recv(end, 4096), 10)
    return found[1].decode()


async def at_rest(target):
    """Its descriptors once they are the same twice: who asked whether it is ready has hung up by then."""
    before, now = None, target.descriptors()
    while now != before:
        await asyncio.sleep(0.5)
        before, now = now, target.descriptors()
    return now


@dataclasses.dataclass
class Vanished:
    count: int  # streams
    held: int  # descriptors of them and of the half-sent requests
    took: float  # seconds until all of those were free; None: they never were
    kept: int  # places in their grace
    same: int  # who came back to their number


async def vanish(seed, count, heartbeat_s):
    """COUNT streams and as many half-sent requests, cut off all at once."""
    async with clients.site(seed) as (world, admin):
        with network.Wire() as wire:
            gateway = await world.gateway(through=False, listen=f"{network.NEAR}:0", heartbeat_s=heartbeat_s)
            target = targets.Target(gateway, world.client, admin)
            before = await at_rest(target)
            with wire.far():
                ends = [socket.socket() for _ in range(2 * count)]
            for number, end in enumerate(ends):
                await target.connect(targets.STREAM if number < count else targets.STREAM[:20], end=end)
            tickets = [await first_ticket(end) for end in ends[:count]]
            await target.until(lambda: target.descriptors() - before >= 2 * count, 5)
            held = target.descriptors() - before
            wire.cut()
            begun = time.monotonic()
            freed = await target.until(lambda: target.descriptors() <= before, heartbeat_s + STALL_S + 30)
            took = time.monotonic() - begun
            await target.until(lambda: target.parked() == count, 5)
            kept = target.parked()
            same = 0
            for ticket in tickets:
                same += people.claims_of(ticket)["ticket"] == await targets.number_by(target, ticket)
            for end in ends:
                end.close()
            return Vanished(count, held, round(took, 1) if freed else None, kept, same)
