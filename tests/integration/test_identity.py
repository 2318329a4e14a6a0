"""Which server a gateway is: configured, from the instance metadata service, or a UUID, and never slow to find out."""

import http.server
import re
import socket
import threading
import time

import pytest


class Metadata(http.server.BaseHTTPRequestHandler):
    """IMDSv2: a token by PUT, then the instance id by GET with that token."""

    instance, token_status, body = "i-0123456789abcdef0", 200, None

    def answer(self, status, text):
        self.send_response(status)
        self.send_header("Content-Length", str(len(text)))
        self.end_headers()
        try:
            self.wfile.write(text)
        except OSError:
            pass

    def do_PUT(self):
        good = self.path == "/latest/api/token" and self.headers["X-aws-ec2-metadata-token-ttl-seconds"]
        self.answer(self.token_status if good else 400, b"TOKEN==")

    def do_GET(self):
        good = self.path == "/latest/meta-data/instance-id" and self.headers["X-aws-ec2-metadata-token"] == "TOKEN=="
        self.answer(200 if good else 401, self.body or self.instance.encode())

    def log_message(self, *args):
        pass


@pytest.fixture
def metadata():
    servers = []

    def start(**facts):
        server = http.server.HTTPServer(("127.0.0.1", 0), type("Facts", (Metadata,), facts))
        threading.Thread(target=server.serve_forever, daemon=True).start()
        servers.append(server)
        return f"http://127.0.0.1:{server.server_port}"

    yield start
    for server in servers:
        server.shutdown()
        server.server_close()


def identity_of(start_gateway, **options):
    begin = time.monotonic()
    gateway = start_gateway(wait=False, **options)
    line = gateway.wait_log("server-id")
    assert time.monotonic() - begin < 3  # instrumented; the asking itself ends after 1 s
    gateway.wait_log("started")  # before that a signal to stop ends it as it ends any program
    return line["server"], line["source"]


def test_the_instance_id_is_the_server_id(start_gateway, metadata):
    assert identity_of(start_gateway, identity="auto", imds_url=metadata()) == (Metadata.instance, "imds")


def test_a_name_may_be_appended(start_gateway, metadata):
    gateway = start_gateway(identity="auto:two", imds_url=metadata())
    assert gateway.wait_log("started")["server"].startswith(Metadata.instance + "-two.")


@pytest.mark.parametrize("facts", [{"token_status": 401}, {"token_status": 404}, {"instance": "a{b"}, {"instance": ""},
                                   {"body": b"x" * 10_000_000}, {"body": b"\x00\xff\r\n"}])
def test_odd_answers_give_a_uuid(start_gateway, metadata, facts):
    server, source = identity_of(start_gateway, identity="auto", imds_url=metadata(**facts))
    assert source == "uuid" and re.fullmatch(r"[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}", server)


def test_nobody_there_or_a_black_hole_gives_a_uuid_within_a_second(start_gateway):
    with socket.socket() as hole:
        hole.bind(("127.0.0.1", 0))
        closed = f"http://127.0.0.1:{hole.getsockname()[1]}"
        assert identity_of(start_gateway, identity="auto", imds_url=closed)[1] == "uuid"
        hole.listen(1)
        assert identity_of(start_gateway, identity="auto", imds_url=closed)[1] == "uuid"


@pytest.mark.parametrize("bad", ["a b", ".hidden", "a{b}", "auto:a b", "x" * 65])
def test_a_bad_server_id_stops_the_start(start_gateway, bad):
    gateway = start_gateway(wait=False, identity=bad, imds_url="")
    assert gateway.exit_code() == 2


def test_equal_keys_and_missing_files_stop_the_start(start_gateway, folder):
    for options in ({"ticket_key_file": folder.entry_key}, {"ticket_key_file": "/nonexistent"}, {"user_auth": "jwt"},
                    {"listen": "nonsense"}, {"redis_url": "http://x"}, {"connections_max": "-1"}):
        gateway = start_gateway(wait=False, **options)
        assert gateway.exit_code() in (1, 2) and "anteroom-gateway: " in gateway.text()
