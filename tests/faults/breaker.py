"""A proxy in front of Redis that counts the calls of each process and kills or freezes one
right before or right after a call of its was carried out.

It forwards one call at a time and waits for its answer, so "call n was carried out and nothing behind it" is exact.
"""

import asyncio
import collections
import contextlib
import hashlib
import os
import pathlib
import signal
import socket
import struct
import subprocess

import support


def script_names():
    """SHA-1 of what Redis gets → the script's name."""
    folder = support.ROOT / "common" / "line"
    names = {}
    for file in folder.glob("*.lua"):
        if file.read_text().startswith("#!lua"):
            body = subprocess.run(["sh", str(folder / "embed.sh"), "--lua", file.stem], check=True, capture_output=True).stdout
            names[hashlib.sha1(body).hexdigest()] = file.stem
    return names


async def read_value(reader):
    """The bytes of one RESP value, and for an array of texts its texts."""
    line = await reader.readuntil(b"\r\n")
    kind, raw, texts = line[:1], line, []
    if kind in b"$=":
        if (size := int(line[1:])) >= 0:
            body = await reader.readexactly(size + 2)
            return raw + body, [body[:-2]]
    elif kind in b"*~>%":
        for _ in range(max(0, int(line[1:])) * (2 if kind == b"%" else 1)):
            more, text = await read_value(reader)
            raw += more
            texts += text
    return raw, texts


class Trap:
    """Sends PID a signal at the COUNT-th call for which MATCHES(name) holds, counted from the LIFE-th call named BEGIN on."""

    def __init__(self, pid, count, when, matches=lambda name: True, begin=None, life=1, number=signal.SIGKILL):
        self.life = life
        self.pid, self.left, self.when, self.matches, self.begin, self.number = pid, count, when, matches, begin, number
        self.sprung = asyncio.get_running_loop().create_future()

    def counts(self, name):
        if self.begin and name == self.begin:
            self.life -= 1
            self.begin = self.begin if self.life > 0 else None
        if self.begin or not self.matches(name) or self.sprung.done():
            return False
        self.left -= 1
        return self.left == 0

    def spring(self, name):
        """True: the process is gone. One that is frozen finds the answer when it wakes."""
        os.kill(self.pid, self.number)
        self.sprung.set_result(name)
        return self.number == signal.SIGKILL


class Breaker:
    def __init__(self, folder, target, chance):
        self.path = pathlib.Path(folder) / "breaker.sock"
        self.url, self.target = f"unix://{self.path}", str(target)
        self.names, self.traps, self.struck = script_names(), {}, collections.Counter()
        self.partitioned = set()  # pids that reach nobody
        self.loss, self.chance, self.lost = 0.0, chance, collections.Counter()  # the share of answers that are withheld; of which calls
        self.tasks = set()
        self.server = None

    async def start(self):
        self.server = await asyncio.start_unix_server(self._serve, self.path, limit=1 << 24)

    def trap(self, daemon, *arguments, **options):
        trap = self.traps[daemon.process.pid] = Trap(daemon.process.pid, *arguments, **options)
        return trap

    def _name(self, texts):
        word = texts[0].decode().upper()
        if word == "EVALSHA":
            return self.names.get(texts[1].decode(), "script")
        if word == "EVAL":
            return self.names.get(hashlib.sha1(texts[1]).hexdigest(), "script")
        if word == "XADD" and b"type" in texts:
            return "XADD " + texts[texts.index(b"type") + 1].decode()
        return word

    async def _serve(self, client, to_client):
        self.tasks.add(asyncio.current_task())
        pid = struct.unpack("3i", to_client.get_extra_info("socket").getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, 12))[0]
        redis, to_redis = await asyncio.open_unix_connection(self.target, limit=1 << 24)
        with contextlib.suppress(OSError, EOFError, asyncio.CancelledError):
            await self._calls(pid, client, to_client, redis, to_redis)
        for end in (to_client, to_redis):
            end.close()
        self.tasks.discard(asyncio.current_task())

    async def _calls(self, pid, client, to_client, redis, to_redis):
        while True:
            raw, texts = await read_value(client)
            name = self._name(texts)
            while pid in self.partitioned:
                await asyncio.sleep(0.05)
            trap = self.traps.get(pid)
            due = trap is not None and trap.counts(name)
            if due and trap.when == "before" and self._spring(trap, name):
                return
            to_redis.write(raw)
            answer, _ = await read_value(redis)
            if due and trap.when == "after" and self._spring(trap, name):
                return
            if self.loss and self.chance.random() < self.loss:
                self.lost[name] += 1
                if self.chance.random() < 0.5:
                    await client.read()  # silence, until the process gives up
                return
            to_client.write(answer)
            if name == "SUBSCRIBE":
                while (data := await redis.read(1 << 16)) and not to_client.is_closing():
                    to_client.write(data)
                return

    def _spring(self, trap, name):
        self.struck[name, trap.when] += 1
        return trap.spring(name)

    async def close(self):
        self.server.close()
        for task in list(self.tasks):
            task.cancel()
        await asyncio.gather(*self.tasks, return_exceptions=True)
