"""Well-behaved newcomers, one every 10 ms whatever became of those before, until stdin ends: how long from connect to the entry
event. Prints p50, p99, worst (ms), how many entered, how many did not, and by how much this process itself was late (p99, ms)."""

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


def at(figures, share):
    return sorted(figures)[min(len(figures) - 1, int(len(figures) * share))] if figures else -1


async def main(host, port, session):
    times, late, under_way, loop = [], [], [], asyncio.get_running_loop()
    ended = loop.run_in_executor(None, sys.stdin.read)
    begun = loop.time()
    while not ended.done():
        under_way.append(asyncio.ensure_future(attempt(times, host, int(port), session)))
        due = begun + len(under_way) * EVERY_S
        await asyncio.sleep(max(0, due - loop.time()))
        late.append((loop.time() - due) * 1000)
    await asyncio.gather(*under_way)
    good = [took for took in times if took is not None]
    print(f"{at(good, 0.5):.1f} {at(good, 0.99):.1f} {at(good, 1):.1f} {len(good)} {len(times) - len(good)} {at(late, 0.99):.1f}")


asyncio.run(main(*sys.argv[1:]))
