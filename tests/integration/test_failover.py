"""A replica that lacks the last moment is promoted, behind HAProxy's TCP check, as a failover by DNS looks to the daemons."""

import shutil
import subprocess

import pytest

import support
from support import Admin, RedisServer, wait_until
from test_loss import state, wait_open, waiting
from test_real_input import free_port
from visitors import entry_of


class RedisBalancer:
    """Sends to the primary while it says that it is one, else to the replica once it was promoted."""

    def __init__(self, folder, primary, replica):
        self.port = free_port()
        config = folder.write("redis.cfg", f"""defaults
    mode tcp
    timeout connect 5s
    timeout client 1h
    timeout server 1h
listen redis
    bind 127.0.0.1:{self.port}
    option tcp-check
    tcp-check send info\\ replication\\r\\n
    tcp-check expect string role:master
    default-server inter 100ms rise 1 fall 1 on-marked-down shutdown-sessions
    server primary 127.0.0.1:{primary} check
    server replica 127.0.0.1:{replica} check backup
""")
        self.process = subprocess.Popen(["haproxy", "-f", str(config), "-db"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        self.url = f"redis://127.0.0.1:{self.port}"

    def close(self):
        self.process.kill()
        self.process.wait()


@pytest.fixture
def pair(tmp_path, folder):
    """A primary, a replica that is in step, and the balancer."""
    made, ports = [], [free_port(), free_port()]
    try:
        for n, port in enumerate(ports):
            (tmp_path / str(n)).mkdir()
            made.append(RedisServer(tmp_path / str(n), "--port", str(port), "--bind", "127.0.0.1", "--repl-diskless-sync-delay", "0"))
        made[1].client.execute_command("REPLICAOF", "127.0.0.1", ports[0])
        wait_until(lambda: made[1].client.info("replication").get("master_link_status") == "up", 20, "the replica")
        made.append(RedisBalancer(folder, *ports))
        yield made
    finally:
        for process in reversed(made):
            process.close()


@pytest.mark.skipif(not shutil.which("haproxy"), reason="HAProxy is not installed")
def test_a_replica_without_the_last_moment_is_promoted(pair, folder, start_gateway, daemons, visit):
    primary, replica, balancer = pair
    publisher = daemons(folder.publisher(balancer.url, tick_ms=100, lease_ms=1000, restore_ms=5000))
    wait_until(lambda: support.is_ready(publisher, "metrics"), 20, "a ready publisher")
    gateways = [start_gateway(f"gw-{n}", redis_url=balancer.url, restore_ms=5000) for n in (1, 2)]
    api = Admin(publisher.url("admin"))
    api.create("s", batch=4, intervalMs=86400000)
    streams = [visit(gateways[n % 2]) for n in range(10)]
    wait_until(lambda: sum(1 for stream in streams if stream.named("entry")) == 2 * 2, 20, "the first four")
    wait_until(lambda: replica.client.info("replication")["slave_repl_offset"] >= primary.client.info("replication")["master_repl_offset"] - 500,
               what="the replica in step")
    replica.client.execute_command("REPLICAOF", "NO", "ONE")  # what comes now it will never hear of
    later = [visit(gateways[n % 2]) for n in range(6)]
    for stream in later:
        stream.wait_event("waiting-state")
    assert api("PATCH", "/admin/sessions/s", {"intervalMs": 50, "activeLimit": 6}).status_code == 200
    waiters = [stream for stream in streams + later if not stream.named("entry")]
    wait_until(lambda: sum(1 for stream in waiters if stream.named("entry")) == 2, 20, "two more, on the old primary only")
    epoch = int(state(primary.client, "epoch"))
    primary.kill()
    wait_open(replica.client, epoch)
    assert int(state(replica.client, "head")) >= 6 and int(state(replica.client, "admitted")) >= 6, "who was in is known"
    api = Admin(publisher.url("admin"))
    wait_until(lambda: api("PATCH", "/admin/sessions/s", {"activeLimit": 0}).status_code == 200, 20, "the admin API")
    for stream in streams + later:
        entry_of(stream, "s", 20)
        assert len(stream.named("entry")) == 1
    tickets = {stream: stream.ticket["ticket"] for stream in streams + later}
    again = [int(fields["ticket"]) for _, fields in replica.client.xrange("session:{s}:admissions")]
    assert again == sorted(set(again)), "in order, nobody twice"
    assert sorted(tickets.values()) == list(range(1, 17)), "everybody kept the number"
    assert not waiting(replica.client)
