"""Hostile and broken clients, one class a kind. Each proves that it reached the daemon: what it could not do is a fault of the run."""

import asyncio
import collections
import contextlib
import pathlib
import re
import socket
import struct
import subprocess

import crowd as people
import support
from world import SESSION

LINE = "line"  # where those stay who are to wait: nobody is let in
RESET = struct.pack("ii", 1, 0)  # SO_LINGER: close is a reset
NOTICE = '"' * 999  # two bytes each in a frame


def request(method, path, body=b"", **headers):
    lines = [f"{method} {path} HTTP/1.1", "Host: x", *(f"{name.replace('_', '-')}: {value}" for name, value in headers.items())]
    return "\r\n".join(lines).encode() + b"\r\n\r\n" + body


STREAM = request("GET", f"/api/queue/stream?sessionId={LINE}", Accept="text/event-stream")
JOIN = request("POST", f"/api/queue/join?sessionId={LINE}", Content_Length=0)


def resident(daemon):
    """Bytes."""
    return int(pathlib.Path(f"/proc/{daemon.process.pid}/statm").read_text().split()[1]) * 4096


class Target:
    """The gateway that is attacked, as it looks from outside."""

    def __init__(self, gateway, client, admin):
        self.gateway, self.client, self.admin = gateway, client, admin
        host, port = gateway.public.removeprefix("http://").split(":")
        self.address = host, int(port)
        self.proc = pathlib.Path(f"/proc/{gateway.process.pid}")

    def descriptors(self):
        return len(list((self.proc / "fd").iterdir()))

    def resident(self):
        return resident(self.gateway)

    def cpu(self):
        """Seconds."""
        return int((self.proc / "schedstat").read_text().split()[0]) / 1e9

    def kernel(self):
        """The most bytes that the kernel holds for one of its connections on our side, sent and received."""
        listing = subprocess.run(["ss", "-tmnH", f"( sport = :{self.address[1]} )"], capture_output=True, text=True, check=True).stdout
        return max((sum(map(int, found)) for found in re.findall(r"skmem:\(r(\d+),rb\d+,t(\d+),tb\d+,f\d+,w(\d+)", listing)), default=0)

    async def metric(self, name, **labels):
        return await asyncio.to_thread(support.metric, self.gateway, "anteroom_" + name, **labels)

    def waiting(self):
        return self.client.zcard("session:{%s}:waiting" % LINE)

    def parked(self):
        return self.client.zcard("session:{%s}:parked" % LINE)

    async def announce(self):
        answer = await asyncio.to_thread(self.admin, "POST", f"/admin/sessions/{LINE}/announce", {"message": NOTICE})
        assert answer.status_code < 300, answer.text

    async def connect(self, first=b"", receive=None, end=None):
        """A socket (END, or a new one) that has sent FIRST; nothing is ever read from it."""
        end, loop = end or socket.socket(), asyncio.get_running_loop()
        if receive:
            end.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, receive)
        end.setblocking(False)
        await asyncio.wait_for(loop.sock_connect(end, self.address), 10)
        if first:
            await asyncio.wait_for(loop.sock_sendall(end, first), 10)
        return end

    async def until(self, condition, timeout):
        """Whether it came to be in time."""
        loop = asyncio.get_running_loop()
        deadline = loop.time() + timeout
        while not condition() and loop.time() < deadline:
            await asyncio.sleep(0.05)
        return condition()


def slam(end):
    end.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, RESET)
    end.close()


def heard(end):
    """What has come, as far as it is there; b"" also where there was a reset."""
    data = b""
    with contextlib.suppress(OSError):
        while more := end.recv(1 << 16):
            data += more
    return data


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


def closed(end):
    """The other side has closed; nothing is taken."""
    try:
        return end.recv(1, socket.MSG_PEEK) == b""
    except BlockingIOError:
        return False
    except OSError:
        return True


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


def opens():
    """Connects that this network namespace's kernel took, less those it threw away before the daemon could have them."""
    def table(file, prefix):
        names, values = [line.split()[1:] for line in pathlib.Path("/proc/thread-self/net", file).read_text().splitlines()
                         if line.startswith(prefix)]
        return dict(zip(names, map(int, values)))
    return table("snmp", "Tcp:")["PassiveOpens"] - table("netstat", "TcpExt:")["ListenDrops"]


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


async def number_by(target, ticket):
    """The number that a stream opened with TICKET is told."""
    reader, writer = await asyncio.open_connection(*target.address)
    writer.write(request("GET", f"/api/queue/stream?sessionId={LINE}", Accept="text/event-stream", Last_Event_ID=ticket))
    try:
        head = await asyncio.wait_for(reader.readuntil(b"event: waiting-state"), 10)
        return people.claims_of(re.search(rb"\nid: (\S+)\r?\n", head)[1].decode())["ticket"]
    except (OSError, EOFError, asyncio.TimeoutError):
        return None
    finally:
        writer.close()


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
