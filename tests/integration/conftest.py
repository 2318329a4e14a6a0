import contextlib
import pathlib
import sys

import pytest

sys.path.insert(0, str(pathlib.Path(__file__).parent))

import support  # noqa: E402
import visitors  # noqa: E402


@pytest.fixture
def folder(tmp_path):
    return support.Folder(tmp_path)


@pytest.fixture
def redis_server(tmp_path):
    server = support.RedisServer(tmp_path)
    yield server
    server.close()


@pytest.fixture
def client(redis_server):
    return redis_server.client


@pytest.fixture
def scripts(client):
    return support.Scripts(client)


@pytest.fixture
def daemons():
    """Takes daemons in; those still running at the end must stop well."""
    running = []
    yield lambda daemon: running.append(daemon) or daemon
    with contextlib.ExitStack() as stack:  # each is stopped even when one fails
        for daemon in running:
            if daemon.process.poll() is None:
                stack.callback(daemon.stop)
            else:
                daemon.kill()


@pytest.fixture
def gateways(client):
    """Makes stand-ins for gateways."""
    made = []

    def make(identity="gw-1", **options):
        made.append(support.FakeGateway(client, identity, **options))
        return made[-1]

    yield make
    for gateway in made:
        gateway.die()


@pytest.fixture
def start_publisher(redis_server, folder, daemons):
    """Starts a publisher with quick ticks; waits until it is ready and hears the doorbell."""

    def start(**options):
        daemon = daemons(folder.publisher(redis_server.url, **{"tick_ms": 100, **options}))
        support.wait_until(lambda: support.is_ready(daemon, "metrics"), what="a ready publisher")
        daemon.wait_log("redis-up", connection="doorbell")
        return daemon

    return start


@pytest.fixture
def publisher(start_publisher):
    return start_publisher()


@pytest.fixture
def admin(publisher):
    """The admin API of the publisher, with a token that may change things."""
    api = support.Admin(publisher.url("admin"))
    yield api
    api.close()


@pytest.fixture
def start_gateway(redis_server, folder, daemons):
    """Starts a gateway that goes away quickly; waits until it is ready for traffic."""

    def start(identity="gw-1", wait=True, **options):
        daemon = daemons(support.Daemon("anteroom-gateway", {
            "redis_url": redis_server.url, "entry_key_file": folder.entry_key, "ticket_key_file": folder.ticket_key,
            "listen": "127.0.0.1:0", "metrics_listen": "127.0.0.1:0", "server_id": identity, "join_limit": "off",
            "drain_notice_s": 0, "drain_s": 0, **options}))
        if wait:
            support.wait_until(lambda: support.is_ready(daemon), what="a ready gateway")
        return daemon

    return start


@pytest.fixture
def gateway(start_gateway):
    return start_gateway()


@pytest.fixture
def visit():
    """Opens event streams; all are closed at the end."""
    opened = []

    def open_stream(daemon, session="s", **options):
        opened.append(visitors.Stream(daemon if isinstance(daemon, str) else daemon.url("public"), session, **options))
        return opened[-1]

    yield open_stream
    for stream in opened:
        stream.close()
