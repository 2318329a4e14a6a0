"""A daemon whose memory runs out when it is told to (tests/faults/nomem.c preloaded), and requests that may be answered, refused
or cut off, but never anything else."""

import os
import pathlib
import re
import socket
import struct
import subprocess
import time

import support

SOURCE = pathlib.Path(__file__).resolve().parents[1] / "faults" / "nomem.c"
FOR_EVER = 1 << 62
CALLERS = 16
FIELDS = struct.Struct(f"5q{CALLERS}Q")
DRY_S = 0.1  # how long memory stays away, where it does not come back by itself


class Memory:
    """The memory of one daemon."""

    def __init__(self, folder, name):
        self.library, self.path = folder / "nomem.so", folder / f"{name}.nomem"
        if not self.library.exists():
            subprocess.run(["cc", "-O1", "-shared", "-fPIC", "-o", self.library, SOURCE, "-lgcc_s"], check=True)
        self.path.write_bytes(bytes(FIELDS.size))
        self.file = self.path.open("r+b", buffering=0)
        self.stacks, self.failures = {}, 0

    def environment(self):
        asan = os.environ.get("ASAN_OPTIONS", "") + ":verify_asan_link_order=0"
        return {"LD_PRELOAD": str(self.library), "NOMEM": str(self.path), "ASAN_OPTIONS": asan.lstrip(":")}

    def arm(self, first, many=1):
        os.pwrite(self.file.fileno(), struct.pack("q", 0), 0)
        os.pwrite(self.file.fileno(), FIELDS.pack(0, first, many, 0, 0, *[0] * CALLERS)[8:], 8)
        os.pwrite(self.file.fileno(), struct.pack("q", 1), 0)

    def state(self):
        return FIELDS.unpack(os.pread(self.file.fileno(), FIELDS.size, 0))

    def release(self):
        """Memory is back."""
        os.pwrite(self.file.fileno(), struct.pack("q", 0), 0)

    def settle(self):
        """Waits until nothing was asked for during a moment, or for long enough."""
        seen, deadline = -1, time.monotonic() + 0.2
        while seen != (now := self.state()[3]) and time.monotonic() < deadline:
            seen = now
            support.NEVER.wait(0.005)

    def disarm(self):
        """Memory is back. How many allocations failed."""
        self.release()
        _, _, _, _, failed, *stack = self.state()
        self.failures += failed
        if failed:
            self.stacks[tuple(stack)] = self.stacks.get(tuple(stack), 0) + 1
        return failed

    def last_stack(self):
        return self.state()[5:]

    def close(self):
        self.file.close()


class Modules:
    """Where the code of a process lies."""

    def __init__(self, pid):
        self.rows = []
        for line in pathlib.Path(f"/proc/{pid}/maps").read_text().splitlines():
            found = re.match(r"(\w+)-(\w+) \S+ (\w+) \S+ \S+ +(/.*)", line)
            if found:
                self.rows.append((int(found[1], 16), int(found[2], 16), int(found[3], 16), found[4]))

    def find(self, address):
        for start, end, offset, path in self.rows:
            if start <= address < end:
                return pathlib.Path(path).name, address - start + offset, path
        return "?", address, None

    def owner(self, stack):
        """Whose allocation it was: the first that is neither the preloaded library nor our hook of another one's."""
        names = [self.find(address)[0] for address in stack if address]
        names = [name for name in names if not name.startswith("nomem")]
        if len(names) > 1 and names[0].startswith("anteroom") and not names[1].startswith("anteroom"):
            return names[1] if names[1].startswith(("libjansson", "libcrypto", "libssl")) else names[0]
        return names[0] if names else "?"

    def text(self, stack):
        lines = []
        for address in stack:
            name, at, path = self.find(address)
            if address and path and not name.startswith("nomem"):
                said = subprocess.run(["addr2line", "-fe", path, hex(at - 1)], capture_output=True, text=True)
                lines.append(f"{name}: {' '.join(said.stdout.split())}")
        return "\n".join(lines)


class Answer:
    """What came back: status None where the connection ended before there was one."""

    def __init__(self, data, complete):
        head, _, self.body = data.partition(b"\r\n\r\n")
        lines = head.decode("latin1").split("\r\n")
        self.status = int(lines[0].split()[1]) if data.startswith(b"HTTP/1.1 ") and len(lines[0].split()) > 1 else None
        self.headers = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in lines[1:])}
        self.complete = complete


def request(method, path, headers=None, body=b"", raw=None):
    lines = [f"{method} {path} HTTP/1.1", "Host: a", "Connection: close",
             *(f"{name}: {value}" for name, value in (headers or {}).items())]
    if body:
        lines.append(f"Content-Length: {len(body)}")
    return raw or "\r\n".join(lines).encode() + b"\r\n\r\n" + body


def is_whole(data):
    head, there, body = data.partition(b"\r\n\r\n")
    if not there:
        return False
    found = re.search(rb"(?i)content-length: (\d+)", head)
    if found:
        return len(body) >= int(found[1])
    if b"chunked" in head.lower():
        return body.endswith(b"0\r\n\r\n")
    return True


def exchange(address, message, meanwhile=None, enough=is_whole, timeout=10.0):
    """Sends MESSAGE and reads until there is ENOUGH, or to the end. MEANWHILE() is called as long as it takes."""
    host, port = address.split(":")
    data, deadline = b"", time.monotonic() + timeout
    with socket.create_connection((host, int(port)), timeout=timeout) as client:
        client.settimeout(0.02)
        try:
            client.sendall(message)
            while time.monotonic() < deadline:
                try:
                    more = client.recv(65536)
                except socket.timeout:
                    if meanwhile:
                        meanwhile()
                    continue
                data += more
                if not more or enough(data):
                    return Answer(data, enough(data))
        except (ConnectionResetError, BrokenPipeError):
            return Answer(data, False)
    raise AssertionError(f"no answer and no end within {timeout} s to {message[:300]!r}: {data[:300]!r}")


def has_frame(data):
    """Of an event stream: the first event, or the end."""
    return bool(re.search(rb"\n(data: .*|: ?)\n\n", data)) or is_whole(data)
