import contextlib
import pathlib
import sys

import pytest

sys.path.insert(0, str(pathlib.Path(__file__).parent))

import support  # noqa: E402


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
    """Starts a publisher with quick ticks."""

    def start(**options):
        return daemons(folder.publisher(redis_server.url, **{"tick_ms": 100, **options}))

    return start


@pytest.fixture
def publisher(start_publisher):
    daemon = start_publisher()
    daemon.address("metrics")
    daemon.wait_log("redis-up", connection="doorbell")
    return daemon


@pytest.fixture
def admin(publisher):
    """The admin API of the publisher, with a token that may change things."""
    api = support.Admin(publisher.url("admin"))
    yield api
    api.close()
