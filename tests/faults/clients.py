"""Hostile and broken clients against one gateway, while a newcomer every 20 ms wants to get in."""

import asyncio
import contextlib
import pathlib
import socket
import struct
import subprocess
import sys

from world import SESSION, World

STREAM = f"GET /api/queue/stream?sessionId={SESSION} HTTP/1.1\r\nHost: x\r\nAccept: text/event-stream\r\n\r\n".encode()
RESET = struct.pack("ii", 1, 0)  # SO_LINGER: close is a reset


def address(gateway):
    host, port = gateway.public.removeprefix("http://").split(":")
    return host, int(port)


async def connect(gateway, count, first=b"", receive=None):
    """COUNT sockets that have sent FIRST; nothing is ever read."""
    sockets, loop = [], asyncio.get_running_loop()
    for _ in range(count):
        end = socket.socket()
        if receive:
            end.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, receive)
        end.setblocking(False)
        sockets.append(end)
        with contextlib.suppress(OSError):
            await loop.sock_connect(end, address(gateway))
            await loop.sock_sendall(end, first)
    return sockets


async def silent(gateway, size):
    return await connect(gateway, size)


async def never_readers(gateway, size):
    return await connect(gateway, size // 5, STREAM, receive=4096)


async def slow_loris(gateway, size):
    ends = await connect(gateway, size // 10, b"GET /")
    for _ in range(20):
        for end in ends:
            with contextlib.suppress(OSError):
                end.send(b"x")
        await asyncio.sleep(0.1)
    return ends


async def resets(gateway, size):
    """A reset after every byte of the request."""
    del size
    for length in range(len(STREAM) + 1):
        for end in await connect(gateway, 3, STREAM[:length]):
            end.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, RESET)
            end.close()
    return []


async def pipelined_flood(gateway, size):
    ends = await connect(gateway, 50)
    for end in ends:
        with contextlib.suppress(OSError):
            for _ in range(max(1, size // 1000)):
                end.send(b"GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n" * 1000)
    return ends


async def bombs(gateway, size):
    """Headers, URLs and bodies far beyond the limits."""
    head = b"GET / HTTP/1.1\r\nHost: x\r\n" + b"X-Long: " + b"a" * 60000 + b"\r\n\r\n"
    url = b"GET /" + b"a" * 60000 + b" HTTP/1.1\r\nHost: x\r\n\r\n"
    body = b"POST /api/queue/join?sessionId=s HTTP/1.1\r\nHost: x\r\nContent-Length: 9999999999\r\n\r\n" + b"b" * 60000
    return [end for bomb in (head, url, body) for end in await connect(gateway, size // 50, bomb)]


ATTACKS = (silent, never_readers, slow_loris, resets, pipelined_flood, bombs)


def resident(gateway):
    """MiB."""
    return int(pathlib.Path(f"/proc/{gateway.process.pid}/statm").read_text().split()[1]) * 4096 / 2**20


async def probed(gateway, work):
    """What WORK returns, and p50, p99, worst (ms), entered, refused meanwhile."""
    host, port = address(gateway)
    probe = subprocess.Popen([sys.executable, str(pathlib.Path(__file__).parent / "probe.py"), host, str(port), SESSION],
                             stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    result = await work
    await asyncio.sleep(2)  # the attack stands
    out, _ = await asyncio.to_thread(probe.communicate, "end\n")
    return result, [float(word) for word in out.split()]


async def nothing():
    return []


async def attacked(seed, size):
    """Rows: name, MiB before and with it, the probe's figures."""
    rows = []
    async with World(seed, batch=500, intervalMs=50) as world:
        await world.publisher(through=False)
        gateway = await world.gateway(through=False)
        world.crowd.arrive(1)  # the session is known to everybody then
        await world.crowd.until(lambda: world.crowd.in_state("entered"), 20, "the first entry")
        for attack in (None, *ATTACKS):
            before = resident(gateway)
            ends, figures = await probed(gateway, attack(gateway, size) if attack else nothing())
            rows.append((attack.__name__ if attack else "nothing", before, resident(gateway), figures))
            for end in ends:
                end.close()
        return rows
