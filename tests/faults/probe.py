"""Well-behaved newcomers, one every 10 ms whatever became of those before, until stdin ends: how long from connect to the entry
event. Prints p50, p99, worst (ms), how many entered and how many did not."""

import asyncio
import sys
import time

EVERY_S = 0.01


async def enter(host, port, session):
    begun = time.perf_counter()
    reader, writer = await asyncio.open_connection(host, port)
    writer.write(f"GET /api/queue/stream?sessionId={session} HTTP/1.0\r\nHost: x\r\nAccept: text/event-stream\r\n\r\n".encode())
    await reader.readuntil(b"event: entry")
    writer.close()
    return (time.perf_counter() - begun) * 1000


async def attempt(times, *where):
    try:
        times.append(await asyncio.wait_for(enter(*where), 10))
    except (OSError, EOFError, asyncio.TimeoutError):
        times.append(None)


async def main(host, port, session):
    times, under_way, loop = [], [], asyncio.get_running_loop()
    ended = loop.run_in_executor(None, sys.stdin.read)
    begun = loop.time()
    while not ended.done():
        under_way.append(asyncio.ensure_future(attempt(times, host, int(port), session)))
        await asyncio.sleep(max(0, begun + len(under_way) * EVERY_S - loop.time()))
    await asyncio.gather(*under_way)
    good = sorted(took for took in times if took is not None)
    at = lambda share: good[min(len(good) - 1, int(len(good) * share))] if good else -1  # noqa: E731
    print(f"{at(0.5):.1f} {at(0.99):.1f} {at(1):.1f} {len(good)} {len(times) - len(good)}")


asyncio.run(main(*sys.argv[1:]))
