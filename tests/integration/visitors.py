"""Visitors for the tests: an event stream read as a browser does, and what its frames said."""

import json
import socket
import threading
import time

import jwt

import support


class Stream:
    """GET /api/queue/stream on a socket of its own. Frames arrive in a thread; every wait has a deadline."""

    retries = 0  # how often it was told when to come back

    def __init__(self, url, session, ticket=None, headers=None, version="1.1", query=""):
        host, port = url.removeprefix("http://").split(":")
        self.events, self.raw, self.comments = [], b"", 0
        self.status, self.headers, self.ended, self.retry, self.last_id = None, {}, False, None, ticket
        self._more = threading.Condition()
        self._socket = socket.create_connection((host, int(port)), timeout=30)
        lines = [f"GET /api/queue/stream?sessionId={session}{query} HTTP/{version}", f"Host: {host}:{port}",
                 "Accept: text/event-stream", *(f"{name}: {value}" for name, value in (headers or {}).items())]
        if ticket:
            lines.append(f"Last-Event-ID: {ticket}")
        self._socket.sendall("\r\n".join(lines).encode() + b"\r\n\r\n")
        self._thread = threading.Thread(target=self._read, daemon=True)
        self._thread.start()

    def _read(self):
        try:
            file = self._socket.makefile("rb")
            self.status = int(file.readline().split()[1])
            for line in iter(file.readline, b"\r\n"):
                if not line:
                    break
                name, value = line.decode().split(":", 1)
                self.headers[name.lower()] = value.strip()
            with self._more:
                self._more.notify_all()
            self._body(file)
        except (OSError, ValueError, IndexError):
            pass
        with self._more:
            self.ended = True
            self._more.notify_all()

    def _body(self, file):
        pending = b""
        if self.headers.get("transfer-encoding") == "chunked":
            while (size := int(file.readline(), 16)) > 0:
                pending = self._frames(pending + file.read(size))
                file.readline()
        elif "content-length" in self.headers:
            self._frames(file.read(int(self.headers["content-length"])))
        elif self.status == 200:
            while data := file.read1(65536):
                pending = self._frames(pending + data)

    def _frames(self, data):
        *frames, rest = data.split(b"\n\n")
        for frame in frames:
            event = {}
            for line in frame.decode().split("\n"):
                if line.startswith(":"):
                    self.comments += 1
                    continue
                name, _, value = line.partition(":")
                event[name] = value.removeprefix(" ")
            with self._more:
                self.retry = int(event["retry"]) if "retry" in event else self.retry
                self.retries += "retry" in event
                self.last_id = event.get("id", self.last_id)
                if "data" in event:
                    event["data"] = json.loads(event["data"])
                    event["at"] = time.time()
                    self.events.append(event)
                self._more.notify_all()
        return rest

    def wait(self, condition, timeout=10.0, what="an event"):
        deadline = time.monotonic() + timeout
        with self._more:
            while not (value := condition()):
                left = deadline - time.monotonic()
                assert left > 0, f"waited {timeout} s in vain for {what}: {self.status} {self.events}"
                self._more.wait(left)
            return value

    def named(self, name):
        return [event for event in self.events if event.get("event") == name]

    def wait_event(self, name, timeout=10.0):
        return self.wait(lambda: self.named(name), timeout, name)[-1]

    def wait_position(self, position, timeout=10.0):
        return self.wait(lambda: self.position == position, timeout, f"position {position}")

    def wait_end(self, timeout=10.0):
        self.wait(lambda: self.ended, timeout, "the end of the stream")

    @property
    def position(self):
        states = self.named("waiting-state")
        return states[-1]["data"]["position"] if states else None

    @property
    def positions(self):
        return [event["data"]["position"] for event in self.named("waiting-state")]

    @property
    def ticket(self):
        """The number in the ticket, and its place and generation."""
        return jwt.decode(self.last_id.removesuffix(".e"), options={"verify_signature": False})

    def close(self):
        try:
            self._socket.shutdown(socket.SHUT_RDWR)
        except OSError:
            pass
        self._socket.close()
        self._thread.join(10)


def entry_of(stream, session, timeout=10.0):
    """The verified claims of the entry that STREAM gets: checked by an implementation that is not ours."""
    event = stream.wait_event("entry", timeout)
    claims = jwt.decode(event["data"]["token"], support.ENTRY_KEY, algorithms=["HS256"], audience=session, issuer="anteroom",
                        options={"require": ["exp", "iat", "aud", "iss", "sub", "jti"]})
    assert event["id"].endswith(".e")
    return claims
