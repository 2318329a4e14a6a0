"""A gateway that is attacked, as it looks from outside, and the words said to it."""

import asyncio
import contextlib
import pathlib
import re
import socket
import struct
import subprocess

import crowd as people
import support

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


def closed(end):
    """The other side has closed; nothing is taken."""
    try:
        return end.recv(1, socket.MSG_PEEK) == b""
    except BlockingIOError:
        return False
    except OSError:
        return True


def opens():
    """Connects that this network namespace's kernel took, less those it threw away before the daemon could have them."""
    def table(file, prefix):
        names, values = [line.split()[1:] for line in pathlib.Path("/proc/thread-self/net", file).read_text().splitlines()
                         if line.startswith(prefix)]
        return dict(zip(names, map(int, values)))
    return table("snmp", "Tcp:")["PassiveOpens"] - table("netstat", "TcpExt:")["ListenDrops"]


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
