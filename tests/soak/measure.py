"""What a soak measures: how long newcomers wait for the first word, how long entries take, memory; and the picture of it."""
import collections
import random
import re
import socket
import threading
import time

import requests

PROBE_S = 0.25
PATIENCE_S = 10  # of somebody who comes while things are broken


class Probe(threading.Thread):
    """Somebody who comes every quarter of a second, waits for the first word, and leaves: how long that took."""

    def __init__(self, ports, seed):
        super().__init__(daemon=True)
        self.ports, self.random, self.over = ports, random.Random(seed), threading.Event()
        self.lock, self.took = threading.Lock(), []

    def run(self):
        while not self.over.wait(PROBE_S):
            begun = time.monotonic()
            self.first_word()
            with self.lock:
                self.took.append((time.monotonic() - begun) * 1000)

    def first_word(self):
        """Like a browser behind a balancer: a machine that takes no connection is passed over, a silent one is waited for."""
        until = time.monotonic() + PATIENCE_S
        while time.monotonic() < until:
            try:
                with socket.create_connection(('127.0.0.1', self.random.choice(self.ports)), timeout=PATIENCE_S) as end:
                    end.sendall(b'GET /api/queue/stream?sessionId=s HTTP/1.0\r\nHost: x\r\nAccept: text/event-stream\r\n\r\n')
                    heard, more = b'', b'-'
                    while more and b'\n\n' not in heard.partition(b'\r\n\r\n')[2]:
                        more = end.recv(65536)
                        heard += more
                ticket = re.search(rb'^id: ([\w.-]+)', heard, re.MULTILINE)
                if ticket:
                    self.leave(ticket[1])
                if b'event: waiting-state' in heard or b'event: entry' in heard:
                    return
            except OSError:
                pass
            self.over.wait(0.05)

    def leave(self, ticket):
        with socket.create_connection(('127.0.0.1', self.random.choice(self.ports)), timeout=1) as end:
            end.sendall(b'POST /api/queue/leave?ticket=' + ticket + b' HTTP/1.0\r\nHost: x\r\nContent-Length: 0\r\n\r\n')
            end.recv(4096)

    def figures(self):
        """Median and worst (ms) since the last time."""
        with self.lock:
            took, self.took = sorted(self.took), []
        return {'join_ms': round(took[len(took) // 2], 1), 'join_worst_ms': round(took[-1], 1)} if took else {'join_ms': '', 'join_worst_ms': ''}


def delivery_ms(gateways, before):
    """The bucket in which the 99th percentile of entries delivered since BEFORE is; BEFORE is brought up to date."""
    now = collections.Counter()
    for gateway in gateways:
        try:
            text = requests.get(gateway.url('metrics') + '/metrics', timeout=1).text
        except (requests.RequestException, AssertionError):  # it is the one that is broken just now
            continue
        for edge, count in re.findall(r'^anteroom_entry_delivery_seconds_bucket\{le="([^"]+)"\} (\d+)', text, re.MULTILINE):
            now[gateway.process.pid, float(edge)] = int(count)
    grown = collections.Counter()
    for (pid, edge), count in now.items():
        grown[edge] += max(0, count - before[pid, edge])
        before[pid, edge] = count
    most = max(grown.values(), default=0)
    return min((edge * 1000 for edge, count in grown.items() if count >= 0.99 * most), default='') if most else ''


def memory_mb(pid):
    try:
        with open(f'/proc/{pid}/status') as status:
            return next(int(line.split()[1]) / 1024 for line in status if line.startswith('VmRSS'))
    except (OSError, StopIteration):
        return 0.0


def draw(path, rows, names):
    """One line a column, each on its own scale from nought to its highest."""
    width, height, left = 900, 120, 90
    parts = [f'<svg xmlns="http://www.w3.org/2000/svg" width="{width + left + 20}" height="{(height + 30) * len(names) + 20}" font-family="sans-serif" font-size="12">',
             '<rect width="100%" height="100%" fill="white"/>']
    last = rows[-1]['seconds'] or 1
    for index, name in enumerate(names):
        top = 20 + index * (height + 30)
        points = [(row['seconds'], float(row[name])) for row in rows if row[name] != '']
        most = max(value for _, value in points) or 1
        line = ' '.join(f'{left + x / last * width:.1f},{top + height - y / most * height:.1f}' for x, y in points)
        parts += [f'<text x="4" y="{top + 14}">{name}</text><text x="4" y="{top + 30}">max {most:.0f}</text>',
                  f'<path d="M{left} {top}V{top + height}H{left + width}" fill="none" stroke="#bbb"/>',
                  f'<polyline points="{line}" fill="none" stroke="#1f5fa8" stroke-width="1.2"/>']
    parts.append(f'<text x="{left + width - 60}" y="{(height + 30) * len(names) + 12}">{last / 60:.0f} minutes</text></svg>')
    path.write_text('\n'.join(parts))
