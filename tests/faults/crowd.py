"""Visitors by the thousand in one asyncio process: event streams on sockets of their own, who come back with their ticket as a browser does."""

import asyncio
import base64
import collections
import json
import random
import time

ENDS = ("entry", "closed", "superseded", "refused")


def claims_of(token):
    """What a signed text says, unverified."""
    body = token.removesuffix(".e").split(".")[1]
    return json.loads(base64.urlsafe_b64decode(body + "=" * (-len(body) % 4)))


class Visitor:
    """One person. Their place is what their first ticket says; all that is ever told to them is kept."""

    def __init__(self, crowd):
        self.crowd = crowd
        self.ticket = self.place = self.number = self.position = self.url = self.transport = None
        self.state = "new"  # new, waiting, away, entered, left, or the reason why it ended
        self.tokens, self.rises, self.moved = [], 0, 0
        self.retry, self.came_at = 1.0, 0.0

    def connect(self):
        if self.state in ("new", "waiting", "away") and not self.crowd.over:
            asyncio.ensure_future(self._connect())

    async def _connect(self):
        self.url = self.crowd.choose()
        host, port = self.url.removeprefix("http://").split(":")
        try:
            await asyncio.wait_for(asyncio.get_running_loop().create_connection(lambda: Connection(self), host, int(port)), 10)
        except (OSError, asyncio.TimeoutError):
            self.again(0.05)

    def again(self, least=0.0):
        """Comes back after the time it was told, or sooner where the run is in a hurry."""
        self.transport = None
        if self.state == "waiting":
            self.state = "away"
        if self.state in ("new", "away"):
            pause = max(least, self.retry if self.crowd.patient else self.crowd.chance.uniform(0, 0.3))
            asyncio.get_running_loop().call_later(pause, self.connect)

    def drop(self):
        """The connection breaks."""
        if self.transport:
            self.transport.abort()

    async def leave(self):
        """Says goodbye; whether it was heard or not, they are gone."""
        self.state = "left"
        host, port = self.url.removeprefix("http://").split(":")
        try:
            reader, writer = await asyncio.open_connection(host, int(port))
            ticket = self.ticket.removesuffix(".e")
            writer.write(f"POST /api/queue/leave?ticket={ticket} HTTP/1.0\r\nHost: x\r\nContent-Length: 0\r\n\r\n".encode())
            await asyncio.wait_for(reader.read(), 10)
            writer.close()
        except (OSError, asyncio.TimeoutError):
            pass
        self.drop()

    def hears(self, event):
        self.retry = int(event["retry"]) / 1000 if "retry" in event else self.retry
        name, ticket = event.get("event"), event.get("id")
        if ticket and ticket != ".e":
            self._holds(ticket)
        if name == "waiting-state":
            self._is_at(json.loads(event["data"])["position"])
        elif name == "entry":
            token = json.loads(event["data"])["token"]
            if token not in self.tokens:
                self.tokens.append(token)
            self.state = "entered"
        elif name in ENDS and self.state != "left":
            data = json.loads(event["data"])
            self.state = f"{name}:{data.get('reason') or data.get('code') or ''}"

    def _holds(self, ticket):
        claims = claims_of(ticket)
        if self.place not in (None, claims["place"]):
            self.moved += 1
            self.position = None
        self.ticket, self.place, self.number = ticket, claims["place"], claims["ticket"]

    def _is_at(self, position):
        if self.position is not None and position > self.position:
            self.rises += 1
        self.position = position
        if self.state in ("new", "away"):
            self.came_at = time.monotonic()
            self.crowd.came_back[int(self.came_at * 10)] += self.state == "away"
            self.state = "waiting"


class Connection(asyncio.Protocol):
    """A GET of the stream over HTTP/1.0: no chunks to undo."""

    def __init__(self, visitor):
        self.visitor, self.pending, self.head, self.transport = visitor, b"", False, None

    def connection_made(self, transport):
        self.transport = self.visitor.transport = transport
        lines = [f"GET /api/queue/stream?sessionId={self.visitor.crowd.session} HTTP/1.0", "Host: x", "Accept: text/event-stream"]
        if self.visitor.ticket and not self.visitor.crowd.forgetful:
            lines.append(f"Last-Event-ID: {self.visitor.ticket}")
        transport.write("\r\n".join(lines).encode() + b"\r\n\r\n")

    def data_received(self, data):
        self.pending += data
        if not self.head:
            head, found, rest = self.pending.partition(b"\r\n\r\n")
            if not found:
                return
            self.head, self.pending = True, rest
            if head.split()[1] != b"200":
                self.visitor.state = f"status:{head.split()[1].decode()}" if self.visitor.state != "entered" else "entered"
        *frames, self.pending = self.pending.split(b"\n\n")
        for frame in frames:
            event = dict(line.split(": ", 1) for line in frame.decode().split("\n") if ": " in line and line[0] != ":")
            self.visitor.hears(event)

    def connection_lost(self, _):
        if self.visitor.transport is self.transport:
            self.visitor.again()


class Crowd:
    """SEED decides everything that is chance here. URLS is a list that may change meanwhile: where visitors may go."""

    def __init__(self, session, urls, seed):
        self.session, self.urls, self.chance = session, urls, random.Random(seed)
        self.visitors, self.over = [], False
        self.patient = False  # waits as long as it was told before it comes back
        self.forgetful = False  # comes back without its ticket
        self.came_back = collections.Counter()  # who came back in which tenth of a second

    def choose(self):
        return self.chance.choice(self.urls)

    def arrive(self, count):
        for _ in range(count):
            self.visitors.append(Visitor(self))
            self.visitors[-1].connect()

    def in_state(self, *states):
        return [visitor for visitor in self.visitors if visitor.state in states]

    def present(self):
        return self.in_state("new", "waiting", "away")

    async def keep(self, size):
        """Whoever is let in is replaced, until cancelled."""
        while True:
            self.arrive(max(0, min(50, size - len(self.present()))))
            await asyncio.sleep(0.05)

    async def churn(self, every_s, leaving):
        """Somebody's connection breaks EVERY_S; a share of LEAVING says goodbye."""
        while True:
            await asyncio.sleep(every_s)
            waiting = self.in_state("waiting")
            if waiting:
                visitor = self.chance.choice(waiting)
                if self.chance.random() < leaving:
                    await visitor.leave()
                else:
                    visitor.drop()

    async def until(self, condition, timeout, what):
        deadline = time.monotonic() + timeout
        while not condition():
            if time.monotonic() > deadline:
                raise TimeoutError(f"waited {timeout} s in vain for {what}")
            await asyncio.sleep(0.02)

    async def settle(self, quiet_s=6.0, timeout=120.0):
        """Until nobody is left, or nothing has happened for QUIET_S: whoever is still there then was lost."""
        since, last, deadline = time.monotonic(), None, time.monotonic() + timeout
        while self.present() and time.monotonic() < deadline:
            now = len(self.in_state("entered")), sum(v.position or 0 for v in self.visitors)
            if now != last:
                since, last = time.monotonic(), now
            if time.monotonic() - since > quiet_s:
                break
            await asyncio.sleep(0.1)

    def close(self):
        self.over = True
        for visitor in self.visitors:
            visitor.drop()
