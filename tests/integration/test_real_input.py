"""Five thousand visitors through a load balancer to two gateways: the figure at which a comparable server ran out of memory."""

import json
import re
import shutil
import socket
import subprocess

import jwt
import pytest
import requests

import support

VISITORS = 5000


class HAProxy:
    """Stands in for the load balancer: appends X-Forwarded-For, ends what is idle for 60 s."""

    def __init__(self, folder, gateways):
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            self.port = probe.getsockname()[1]
        self.url = f"http://127.0.0.1:{self.port}"
        servers = "\n".join(f"    server gateway-{n} {gateway.address('public')} check inter 500 rise 1 fall 20" for n, gateway in enumerate(gateways))
        config = folder.write("haproxy.cfg", f"""global
    maxconn 9000
defaults
    mode http
    timeout connect 5s
    timeout client 60s
    timeout server 60s
    option forwardfor
    option http-no-delay
frontend visitors
    bind 127.0.0.1:{self.port}
    default_backend gateways
backend gateways
    balance roundrobin
    option httpchk
    http-check send meth GET uri /readyz ver HTTP/1.1 hdr Host gateway
{servers}
""")
        self.process = subprocess.Popen(["haproxy", "-f", str(config), "-db"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        support.wait_until(self.answers, what="HAProxy")

    def answers(self):
        assert self.process.poll() is None, "HAProxy ended"
        try:
            return requests.get(self.url + "/readyz", timeout=2).status_code == 200
        except requests.ConnectionError:
            return False

    def close(self):
        self.process.terminate()
        self.process.wait(10)


def resident_mb(pid):
    with open(f"/proc/{pid}/status") as status:
        return int(re.search(r"VmRSS:\s+(\d+)", status.read()).group(1)) / 1024


@pytest.mark.skipif(not shutil.which("haproxy"), reason="HAProxy is not installed")
def test_five_thousand_visitors_with_leavers_and_reconnects(admin, publisher, start_gateway, folder, client, capsys):
    admin.create("s", batch=250, intervalMs=100, status="paused", graceMs=60000)
    gateways = [start_gateway(f"gw-{n}", trusted_proxies="127.0.0.0/8", join_limit_exempt="127.0.0.0/8") for n in (1, 2)]
    proxy = HAProxy(folder, gateways)
    summary = folder.path / "crowd.json"
    with open(folder.path / "crowd.out", "w") as out:
        # The balancer gives each new connection, also a reconnect, to the next gateway in turn.
        crowd = subprocess.Popen([str(support.BUILD / "anteroom-crowd"), "--url", proxy.url, "--session", "s", "--visitors", str(VISITORS),
                                  "--rate", "2000", "--leave-percent", "10", "--reconnect-percent", "10", "--timeout", "120",
                                  "--source-addresses", "20", "--json", str(summary)], stdout=out, stderr=out)
        support.wait_until(lambda: int(client.hget("session:{s}:state", "tail") or 0) >= VISITORS * 0.9 or crowd.poll() is not None, timeout=60,
                           what="most to have joined")
        memory = {"redis-server": client.info("memory")["used_memory"] / 2**20, "publisher": resident_mb(publisher.process.pid),
                  **{f"gateway {n}": resident_mb(gateway.process.pid) for n, gateway in enumerate(gateways, 1)}, "crowd": resident_mb(crowd.pid),
                  "haproxy": resident_mb(proxy.process.pid)}
        admin("POST", "/admin/sessions/s/resume")
        code = crowd.wait(180)
    output = (folder.path / "crowd.out").read_text()
    with capsys.disabled():
        print("\n" + output + "  memory with everybody waiting: " + ", ".join(f"{name} {size:.0f} MB" for name, size in memory.items()) +
              (" (instrumented build)" if "asan" in str(support.BUILD) else ""))
    figures = json.loads(summary.read_text())
    assert code == 0, output
    assert figures["orderViolations"] == figures["duplicateEntries"] == figures["positionErrors"] == figures["placesLost"] == 0
    assert figures["joined"] == VISITORS and figures["refused"] == {} and figures["waiting"] == 0 and figures["closed"] == 0
    assert figures["admitted"] + figures["left"] == VISITORS
    assert figures["left"] > VISITORS * 0.05 and figures["reconnects"] > VISITORS * 0.05
    admissions = [fields for _, fields in client.xrange("session:{s}:admissions")]
    tickets = [int(fields["ticket"]) for fields in admissions]
    assert tickets == sorted(set(tickets)) and len({fields["place"] for fields in admissions}) == len(admissions)
    assert len(admissions) >= figures["admitted"]
    tokens = client.hgetall("session:{s}:entries")
    assert len(tokens) == len(admissions)
    for place, token in tokens.items():
        claims = jwt.decode(token, support.ENTRY_KEY, algorithms=["HS256"], audience="s", issuer="anteroom")
        assert claims["jti"] == place
    proxy.close()
