"""The cases of tests/vectors/http.txt through a proxy: the gateway sees exactly the requests that the proxy passed on."""

import concurrent.futures
import contextlib
import pathlib
import re
import shutil
import socket
import subprocess

import pytest

import support
from support import wait_until
from test_real_input import free_port

CASES = pathlib.Path(__file__).parents[1] / "vectors" / "http.txt"
TOGETHER = 12
PATIENCE_S = 0.3  # how long a client waits that will never be answered


def unescape(text):
    text = text.replace("{H}", r"Host: x\r\n")
    text = re.sub(r"(.)\{(\d+)\}", lambda match: match[1] * int(match[2]), text)
    return text.encode("ascii").decode("unicode_escape").encode("latin-1")


def cases():
    for line in CASES.read_text("ascii").splitlines():
        if line and not line.startswith("#"):
            _, name, text = line.split(None, 2)
            # the paths are the gateway's own: requests on which it never asks Redis
            yield name, unescape(text).replace(b" / HTTP", b" /healthz HTTP")


class Haproxy:
    program = "haproxy"
    ways = {"keep-alive": "option http-keep-alive", "close": "option httpclose", "reuse": "http-reuse always",
            "lenient": "option accept-invalid-http-request"}

    def __init__(self, folder, target, way):
        self.port, self.log = free_port(), free_port()
        self._lines = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self._lines.bind(("127.0.0.1", self.log))
        self._lines.setblocking(False)
        config = folder.write("smuggling.cfg", f"""global
    log 127.0.0.1:{self.log} local0
defaults
    mode http
    log global
    timeout client 20s
    timeout server 20s
    timeout connect 5s
    log-format "upstream=%si:%sp/%bc"
    {self.ways[way]}
listen front
    bind 127.0.0.1:{self.port}
    server gateway {target}
""")
        self.command = ["haproxy", "-f", str(config), "-db"]

    def passed_on(self):
        """Requests that a server was given, since the last call."""
        count = 0
        with contextlib.suppress(BlockingIOError):
            while True:
                count += b"upstream=127.0.0.1:" in self._lines.recv(65536)
        return count

    def close(self):
        self._lines.close()


class Nginx:
    program = "nginx"
    ways = {"keep-alive": 'proxy_http_version 1.1; proxy_set_header Connection ""; proxy_request_buffering off;',
            "1.0": "proxy_request_buffering on;",
            "lenient": 'proxy_http_version 1.1; proxy_set_header Connection "";'}

    def __init__(self, folder, target, way):
        self.port, self._seen = free_port(), 0
        base = pathlib.Path(folder.write("nginx.log", "")).parent
        self._log = base / "access.log"
        config = folder.write("nginx.conf", f"""daemon off; master_process off; worker_processes 1;
pid {base}/nginx.pid; error_log {base}/nginx.log;
events {{ worker_connections 512; }}
http {{
    client_body_temp_path {base}/body; proxy_temp_path {base}/proxy; fastcgi_temp_path {base}/f; uwsgi_temp_path {base}/u; scgi_temp_path {base}/s;
    log_format passed 'upstream=$upstream_addr';
    access_log {self._log} passed;
    upstream gateway {{ server {target}; keepalive 8; }}
    server {{
        listen 127.0.0.1:{self.port};
        {"ignore_invalid_headers off; underscores_in_headers on; merge_slashes off;" if way == "lenient" else ""}
        location / {{ proxy_pass http://gateway; proxy_set_header Host $host; proxy_next_upstream off; {self.ways[way]} }}
    }}
}}
""")
        self.command = ["nginx", "-c", str(config), "-p", str(base), "-e", f"{base}/nginx.log"]

    def passed_on(self):
        total = self._log.read_text().count("upstream=127.0.0.1:") if self._log.exists() else 0
        new, self._seen = total - self._seen, total
        return new

    def close(self):
        pass


@contextlib.contextmanager
def running(kind, way, folder, target):
    proxy = kind(folder, target, way)
    process = subprocess.Popen(proxy.command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        wait_until(lambda: answers(proxy.port), 10, f"{kind.program} to listen")
        yield proxy
    finally:
        process.kill()
        process.wait()
        proxy.close()


def answers(port):
    with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), 1):
        return True
    return False


def say(port, pieces):
    """Sends and reads to the end, or until nothing comes any more."""
    with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), 5) as client:
        client.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        for piece in pieces:
            client.sendall(piece)
        client.settimeout(PATIENCE_S)
        while client.recv(65536):
            pass


def requests_seen(gateway):
    """What came to the public listener; the question itself is a request, too."""
    name = "anteroom_http_requests_total"
    return support.metric(gateway, name) - support.metric(gateway, name, route="metrics")


@pytest.mark.parametrize("kind, way", [pytest.param(kind, way, id=f"{kind.program}, {way}") for kind in (Haproxy, Nginx) for way in kind.ways])
def test_the_gateway_sees_what_the_proxy_passed_on(kind, way, folder, start_gateway):
    if not shutil.which(kind.program):
        pytest.skip(f"{kind.program} is not installed")
    gateway = start_gateway()
    with running(kind, way, folder, gateway.address("public")) as proxy:
        say(proxy.port, [b"GET /healthz HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n"])
        wait_until(lambda: proxy.passed_on() == 1, 10, "the proxy's log")
        seen, told, everything = requests_seen(gateway), 0, list(cases())
        for start in range(0, len(everything), TOGETHER):
            some = everything[start:start + TOGETHER]
            with concurrent.futures.ThreadPoolExecutor(2 * TOGETHER) as pool:
                for _, data in some:
                    pool.submit(say, proxy.port, [data])
                    pool.submit(say, proxy.port, [data[:len(data) // 2], data[len(data) // 2:]])

            def agree():
                nonlocal told
                told += proxy.passed_on()
                return requests_seen(gateway) - seen == told

            wait_until(agree, 10, f"as many requests at the gateway as were passed on, with {[name for name, _ in some]}")
        assert told > 20, "well-formed ones came through"
