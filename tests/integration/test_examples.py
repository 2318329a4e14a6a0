"""The examples in deploy/, with the addresses of this test."""

import http.server
import shutil
import socket
import subprocess
import threading

import pytest
import requests

import support
import tokens
from test_site import is_used

NGINX = shutil.which("nginx")


class Site(http.server.BaseHTTPRequestHandler):
    """What is protected: says who it was told is there."""

    def answer(self):
        self.rfile.read(int(self.headers.get("Content-Length", 0)))
        text = f"{self.command} {self.headers.get('X-Anteroom-User')} {self.headers.get('X-Anteroom-Place')}".encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(text)))
        self.end_headers()
        self.wfile.write(text)

    do_GET = do_POST = answer

    def log_message(self, *args):
        pass


@pytest.fixture
def site():
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Site)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"127.0.0.1:{server.server_port}"
    server.shutdown()
    server.server_close()


def free_addresses(count):
    held = [socket.create_server(("127.0.0.1", 0)) for _ in range(count)]
    addresses = [f"127.0.0.1:{one.getsockname()[1]}" for one in held]
    for one in held:
        one.close()
    return addresses


@pytest.fixture
def nginx(tmp_path, gateway, site):
    """The addresses of the line and of the shop."""
    if not NGINX:
        pytest.skip("nginx is not installed")
    queue, shop = free_addresses(2)
    text = (support.ROOT / "deploy" / "nginx" / "anteroom.conf").read_text()
    for default, ours in (("127.0.0.1:8080", gateway.address("public")), ("127.0.0.1:9000", site), ("127.0.0.1:8090", queue),
                          ("127.0.0.1:8091", shop)):
        assert text.count(default) == 1
        text = text.replace(default, ours)
    paths = " ".join(f"{kind}_temp_path {tmp_path}/{kind};" for kind in ("client_body", "proxy", "fastcgi", "uwsgi", "scgi"))
    config = tmp_path / "nginx.conf"
    config.write_text(f"daemon off; master_process off; pid {tmp_path}/pid; error_log stderr;\nevents {{}}\n"
                      f"http {{ access_log off; {paths}\n{text} }}\n")
    command = [NGINX, "-p", str(tmp_path), "-c", str(config), "-e", "stderr"]
    checked = subprocess.run([*command, "-t"], capture_output=True, text=True)
    assert checked.returncode == 0, checked.stderr
    process = subprocess.Popen(command, stderr=subprocess.DEVNULL)

    def listens():
        assert process.poll() is None
        try:
            return requests.get(f"http://{queue}/healthz", timeout=5).status_code == 200
        except requests.ConnectionError:
            return False

    support.wait_until(listens, what="nginx")
    yield f"http://{queue}", f"http://{shop}"
    process.terminate()
    process.wait(10)


def test_nginx_lets_in_who_has_a_token(nginx, client):
    _, shop = nginx
    token = tokens.entry_token("demo", sub="you & me", jti="p" * 22)
    mine = {"Cookie": f"anteroom_entry_demo={token}"}
    for body in (None, b"x" * 100000):
        answer = requests.request("POST" if body else "GET", shop + "/page?a=b", headers=mine, data=body, timeout=10)
        assert answer.status_code == 200 and answer.text == f"{'POST' if body else 'GET'} you%20&%20me {'p' * 22}"
    claimed = {"X-Anteroom-User": "admin", "X-Anteroom-Place": "q"}
    assert requests.get(shop, headers={**mine, **claimed}, timeout=10).text == f"GET you%20&%20me {'p' * 22}"
    for headers in ({}, claimed, {"Accept": "text/event-stream"}, {"Cookie": "anteroom_entry_demo=x"}, {"X-Entry-Token": tokens.entry_token("other")}):
        answer = requests.get(shop, headers=headers, timeout=10, allow_redirects=False)
        assert answer.status_code == 303 and answer.headers["Location"] == "https://queue.example.com/room/demo"
    assert requests.get(shop + "/_anteroom/verify", headers=mine, timeout=10).status_code == 404


def test_nginx_lets_a_token_order_once(nginx, client):
    _, shop = nginx
    token = tokens.entry_token("demo")
    for status in (200, 303, 303):
        answer = requests.post(shop + "/order", headers={"X-Entry-Token": token}, data=b"order", timeout=10, allow_redirects=False)
        assert answer.status_code == status
    assert is_used(client, token, "demo")
    mine = {"headers": {"X-Entry-Token": token}, "timeout": 10, "allow_redirects": False}
    assert requests.get(shop, **mine).status_code == 303, "the token has done its work"
    assert requests.get(shop + "/thanks", **mine).status_code == 200, "what is behind the order does not ask"


def test_nginx_passes_the_line_on(nginx, admin, visit):
    queue, _ = nginx
    admin.create("s", status="paused")
    visit(queue).wait_position(1)
