"""Hostile and broken clients, one class a kind. Each proves that it reached the daemon: what it could not do is a fault of the run."""

import asyncio
import collections
import contextlib
import re

import crowd as people
from targets import JOIN, LINE, STREAM, closed, heard, number_by, opens, request, slam
from world import SESSION


class Attack:
    """begin, then go_on each tenth of a second while newcomers come, then proof: what must be true of it, as (words, whether)."""

    least_s = 0.0  # how long it must go on to show what it is about; not in a short run
    share = 1  # how many of the run's size it is: one in so many
    user_bytes = kernel_bytes = None  # the ceiling of one connection (docs/operations.md)

    def __init__(self, target, size, chance, short):
        self.target, self.count, self.chance, self.short = target, max(1, size // self.share), chance, short
        self.ends, self.before, self.held = [], target.descriptors(), 0

    async def go_on(self):
        self.held = max(self.held, self.target.descriptors() - self.before)

    async def proof(self):
        yield f"{self.held} held at once", self.held >= self.count

    async def end(self):
        for end in self.ends:
            end.close()


class Silent(Attack):
    """connects that send nothing"""

    least_s, user_bytes, kernel_bytes = 11, 1024, 16384

    async def begin(self):
        for _ in range(self.count):
            self.ends.append(await self.target.connect())
        self.held = self.target.descriptors() - self.before
        self.peak = self.target.resident()  # the ten seconds that they have begin with each one's connect

    async def proof(self):
        async for row in super().proof():
            yield row
        if not self.short:
            gone = await self.target.until(lambda: sum(closed(end) for end in self.ends) == self.count, 5)
            yield "all closed after 10 s", gone


class NeverReaders(Attack):
    """streams with a small window that never read, and are told a lot"""

    least_s, share, user_bytes, kernel_bytes = 30, 5, 8192, 65536

    async def begin(self):
        self.coalesced = await self.target.metric("frames_coalesced_total")
        self.waiting = self.target.waiting()
        for _ in range(self.count):
            self.ends.append(await self.target.connect(STREAM, receive=4096))
        await self.target.until(lambda: self.target.waiting() - self.waiting >= self.count, 20)

    async def go_on(self):
        await super().go_on()
        await self.target.announce()

    async def proof(self):
        yield f"{self.target.waiting() - self.waiting} joined", self.target.waiting() - self.waiting == self.count
        put_off = await self.target.metric("frames_coalesced_total") - self.coalesced
        yield f"{put_off:.0f} frames put off", self.short or put_off >= self.count


class SlowReaders(NeverReaders):
    """streams with a small window that read a byte ten times a second"""

    share = 10

    async def begin(self):
        await super().begin()
        self.read = collections.Counter()

    async def go_on(self):
        await super().go_on()
        for end in self.ends:
            with contextlib.suppress(OSError):
                self.read[end] += len(end.recv(1))

    async def proof(self):
        async for row in super().proof():
            yield row
        yield f"{min(self.read.values())} bytes read by the slowest", min(self.read.values()) > 0


class SlowHeaders(Attack):
    """header blocks of 15,000 bytes whose end comes a byte at a time"""

    least_s, share, user_bytes = 12, 10, 32768
    first = request("GET", "/", X_Slow="a" * 15000)[:-4]

    async def begin(self):
        for _ in range(self.count):
            self.ends.append(await self.target.connect(self.first))

    async def go_on(self):
        await super().go_on()
        for end in self.ends:
            with contextlib.suppress(OSError):
                end.send(b"a")

    async def proof(self):
        async for row in super().proof():
            yield row
        if not self.short:
            told = sum(heard(end).startswith(b"HTTP/1.1 408") for end in self.ends)
            yield f"{told} told 408", told == self.count


class SlowBodies(SlowHeaders):
    """bodies of 60,000 bytes whose end comes a byte at a time"""

    user_bytes = 131072
    first = request("POST", f"/api/queue/join?sessionId={LINE}", b"a" * 59000, Content_Length=60000)


class RequestResets(Attack):
    """a reset after each byte of a request"""

    async def begin(self):
        self.opens, self.count = opens(), 3 * (len(STREAM) + 1)
        for length in range(len(STREAM) + 1):
            for _ in range(3):
                slam(await self.target.connect(STREAM[:length]))

    async def proof(self):
        seen = opens() - self.opens
        yield f"{self.count} connects taken", seen >= self.count
        yield "all descriptors freed", await self.target.until(lambda: self.target.descriptors() <= self.before, 12)


class AnswerResets(Attack):
    """a reset after each byte of a stream's beginning and of an answer in JSON"""

    async def begin(self):
        self.waiting, self.parked, self.tickets, self.made = self.target.waiting(), self.target.parked(), [], 0
        step = 29 if self.short else 1
        for first in (STREAM, JOIN):
            length = len(await self.read(first, 1 << 16))
            for count in range(self.chance.randrange(step), length + 1, step):
                data = await self.read(first, count)
                found = re.search(rb'(?:\nid: |"ticket":")([\w.-]+)["\n]', data)
                self.tickets += [found[1].decode()] if found else []
        self.count = self.made

    async def read(self, first, count):
        """Reads just so many bytes (or all there are), then resets. The gateway has answered then, whatever was read."""
        loop, data, before = asyncio.get_running_loop(), b"", self.target.waiting()
        end = await self.target.connect(first)
        self.made += 1
        while len(data) < count:
            try:
                more = await asyncio.wait_for(loop.sock_recv(end, count - len(data)), 10 if count < 1 << 16 else 0.5)
            except asyncio.TimeoutError:
                break
            data += more
        if count == 0:
            assert await self.target.until(lambda: self.target.waiting() > before, 10)
        slam(end)
        return data

    async def proof(self):
        joined = self.target.waiting() - self.waiting
        yield f"{self.made} joined", joined == self.made
        parked = await self.target.until(lambda: self.target.parked() - self.parked == self.made, 10)
        yield "every place kept", parked and self.target.waiting() - self.waiting == self.made
        same = 0
        for ticket in self.tickets:
            same += people.claims_of(ticket)["ticket"] == await number_by(self.target, ticket)
        yield f"{same} back with their ticket and number", same == len(self.tickets) > 0


class DeafPipelines(Attack):
    """pipelines of requests whose answers are not read"""

    user_bytes = 131072
    block = request("GET", "/healthz") * 1000

    async def begin(self):
        self.count = 50
        self.answered = await self.target.metric("http_requests_total", route="healthz")
        for _ in range(self.count):
            self.ends.append(await self.target.connect(receive=1 << 16))

    async def go_on(self):
        await super().go_on()
        for end in self.ends:
            with contextlib.suppress(BlockingIOError):
                while True:
                    end.send(self.block)

    async def proof(self):
        answered = await self.target.metric("http_requests_total", route="healthz") - self.answered
        yield f"{answered:.0f} requests answered", answered >= 100 * self.count
        if type(self) is DeafPipelines and not self.short:
            yield "then no more is taken", all(full(end) for end in self.ends)


def full(end):
    try:
        return end.send(DeafPipelines.block) == 0
    except BlockingIOError:
        return True


class Pipelines(DeafPipelines):
    """pipelines of requests, all answers read"""

    async def begin(self):
        await super().begin()
        self.work = [asyncio.ensure_future(work(end)) for end in self.ends for work in (self.ask, self.read)]

    async def ask(self, end):
        while True:
            await asyncio.get_running_loop().sock_sendall(end, self.block)

    async def read(self, end):
        while await asyncio.get_running_loop().sock_recv(end, 1 << 18):
            pass

    async def go_on(self):
        await Attack.go_on(self)

    async def end(self):
        for work in self.work:
            work.cancel()
        await asyncio.gather(*self.work, return_exceptions=True)
        await asyncio.sleep(0)  # the loop lets go of the sockets
        await super().end()


class Bombs(Attack):
    """headers, URLs and bodies beyond the limits"""

    share, user_bytes = 10, 131072
    kinds = (
        ("431", request("GET", "/", X_Long="a" * 60000)),
        ("431", request("GET", "/", **{f"X_{n}": "a" for n in range(200)})),
        ("414", request("GET", "/" + "a" * 60000)),
        ("413", request("POST", f"/api/queue/join?sessionId={SESSION}", b"b" * 60000, Content_Length=9999999999)),
        ("413", request("POST", f"/api/queue/join?sessionId={SESSION}", b"ffff\r\n" + b"b" * 65535 + b"\r\nffff\r\n" + b"b" * 65535,
                        Transfer_Encoding="chunked")),
    )

    async def begin(self):
        self.statuses = collections.Counter()
        self.count //= len(self.kinds)
        for _ in range(self.count):
            for status, bomb in self.kinds:
                await self.bomb(status, bomb)

    async def bomb(self, status, bomb):
        loop = asyncio.get_running_loop()
        end = await self.target.connect()
        self.ends.append(end)
        with contextlib.suppress(OSError):  # the end of it may find the connection closed
            await asyncio.wait_for(loop.sock_sendall(end, bomb), 10)
        with contextlib.suppress(OSError, asyncio.TimeoutError):
            answer = await asyncio.wait_for(loop.sock_recv(end, 4096), 10)
            self.statuses[answer[9:12].decode() == status] += 1

    async def proof(self):
        yield f"{self.statuses[True]} refused as they should be", self.statuses[True] == self.count * len(self.kinds)


ALL = (Silent, NeverReaders, SlowReaders, SlowHeaders, SlowBodies, RequestResets, AnswerResets, DeafPipelines, Pipelines, Bombs)
