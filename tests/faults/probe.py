"""A well-behaved newcomer every 20 ms until stdin ends: how long from connect to the entry event. Prints p50, p99, worst (ms) and how many."""

import select
import socket
import sys
import time


def enter(host, port, session):
    begun = time.perf_counter()
    with socket.create_connection((host, port), timeout=10) as line:
        line.sendall(f"GET /api/queue/stream?sessionId={session} HTTP/1.0\r\nHost: x\r\nAccept: text/event-stream\r\n\r\n".encode())
        heard = b""
        while b"event: entry" not in heard:
            data = line.recv(65536)
            if not data:
                return None
            heard += data
    return (time.perf_counter() - begun) * 1000


def main(host, port, session):
    times, refused = [], 0
    while not select.select([sys.stdin], [], [], 0.02)[0]:
        try:
            took = enter(host, int(port), session)
        except OSError:
            took = None
        refused += took is None
        times += [took] if took is not None else []
    times.sort()
    at = lambda share: times[min(len(times) - 1, int(len(times) * share))] if times else -1  # noqa: E731
    print(f"{at(0.5):.1f} {at(0.99):.1f} {at(1):.1f} {len(times)} {refused}")


main(*sys.argv[1:])
