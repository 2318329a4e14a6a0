"""Five thousand visitors through a load balancer to two gateways: the figure at which a comparable server ran out of memory."""

import contextlib
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


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


class HAProxy:
    """Stands in for the load balancer: appends X-Forwarded-For, ends what is idle for 60 s. Each gateway has an address of its own
    here, so that a test decides through which one a visitor comes back.

    With nothing else set a check has as long as its interval lasts, three late answers take a server out, and with both out
    HAProxy says 503 itself. This one waits as long for a check and a connection as a machine busy with other things may need.
    """

    def __init__(self, folder, gateways):
        self.ports = [free_port() for _ in gateways]
        self.urls = [f"http://127.0.0.1:{port}" for port in self.ports]
        ways = "\n".join(f"""frontend visitors-{n}
    bind 127.0.0.1:{port}
    default_backend gateway-{n}
backend gateway-{n}
    option httpchk
    http-check send meth GET uri /readyz ver HTTP/1.1 hdr Host gateway
    server gateway-{n} {gateway.address('public')} check inter 1s rise 1 fall 20""" for n, (port, gateway) in enumerate(zip(self.ports, gateways)))
        config = folder.write("haproxy.cfg", f"""global
    maxconn 9000
defaults
    mode http
    timeout connect 20s
    timeout check 20s
    timeout client 60s
    timeout server 60s
    option forwardfor
    option http-no-delay
{ways}
""")
        self.process = subprocess.Popen(["haproxy", "-f", str(config), "-db"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        try:
            support.wait_until(self.answers, what="HAProxy")
        except BaseException:
            self.close()
            raise

    def answers(self):
        assert self.process.poll() is None, "HAProxy ended"
        try:
            return all(requests.get(url + "/readyz", timeout=2).status_code == 200 for url in self.urls)
        except (requests.ConnectionError, requests.Timeout):
            return False

    def close(self):
        self.process.kill()
        self.process.wait()


@pytest.fixture
def balance():
    """Puts a load balancer before gateways; it ends with the test."""
    with contextlib.ExitStack() as stack:
        yield lambda *arguments: stack.enter_context(contextlib.closing(HAProxy(*arguments)))


class Crowd:
    """The load client, a process that ends with the block at the latest."""

    def __init__(self, folder, url, **options):
        self.summary, self._output = folder.path / "crowd.json", folder.path / "crowd.out"
        flags = [f"--{key.replace('_', '-')}={value}" for key, value in options.items()]
        with open(self._output, "w") as out:
            self.process = subprocess.Popen([str(support.BUILD / "anteroom-crowd"), f"--url={url}", f"--json={self.summary}", *flags],
                                            stdout=out, stderr=out)

    def __enter__(self):
        return self

    def __exit__(self, *error):
        self.process.kill()
        self.process.wait()

    def output(self):
        return self._output.read_text()

    def goes_on(self):
        assert self.process.poll() is None, "the crowd ended early:\n" + self.output()
        return True


def resident_mb(pid):
    with open(f"/proc/{pid}/status") as status:
        return int(re.search(r"VmRSS:\s+(\d+)", status.read()).group(1)) / 1024


@pytest.mark.skipif(not shutil.which("haproxy"), reason="HAProxy is not installed")
def test_five_thousand_visitors_with_leavers_and_reconnects(admin, publisher, start_gateway, folder, client, capsys, balance):
    admin.create("s", batch=250, intervalMs=100, status="paused", graceMs=60000)
    gateways = [start_gateway(f"gw-{n}", trusted_proxies="127.0.0.0/8", join_limit_exempt="127.0.0.0/8") for n in (1, 2)]
    # Visitors take the two addresses in turn; who drops the connection comes back through the other one.
    proxy = balance(folder, gateways)
    with Crowd(folder, ",".join(proxy.urls), session="s", visitors=VISITORS, rate=2000, leave_percent=18, reconnect_percent=18, timeout=180,
               source_addresses=20) as crowd:
        support.wait_until(lambda: crowd.goes_on() and int(client.hget("session:{s}:state", "tail") or 0) >= VISITORS * 0.9, timeout=90,
                           what="most to have joined")
        memory = {"redis-server": client.info("memory")["used_memory"] / 2**20, "publisher": resident_mb(publisher.process.pid),
                  **{f"gateway {n}": resident_mb(gateway.process.pid) for n, gateway in enumerate(gateways, 1)},
                  "crowd": resident_mb(crowd.process.pid), "haproxy": resident_mb(proxy.process.pid)}
        assert admin("POST", "/admin/sessions/s/resume").status_code == 200
        code = crowd.process.wait(240)
    output = crowd.output()
    with capsys.disabled():
        print("\n" + output + "  memory with everybody waiting: " + ", ".join(f"{name} {size:.0f} MB" for name, size in memory.items()) +
              (" (instrumented build)" if "asan" in str(support.BUILD) else ""))
    figures = json.loads(crowd.summary.read_text())
    assert code == 0, output
    assert figures["orderViolations"] == figures["duplicateEntries"] == figures["positionErrors"] == figures["placesLost"] == 0
    assert figures["joined"] == VISITORS and figures["refused"] == {} and figures["waiting"] == 0 and figures["closed"] == 0
    assert figures["admitted"] + figures["left"] == VISITORS
    assert figures["left"] > VISITORS * 0.05 and figures["reconnects"] > VISITORS * 0.05
    resumed = [support.metric(gateway, "anteroom_joins_total", result="resumed") for gateway in gateways]
    assert min(resumed) > VISITORS * 0.02, "both gateways take places over from the other"
    admissions = [fields for _, fields in client.xrange("session:{s}:admissions")]
    tickets = [int(fields["ticket"]) for fields in admissions]
    assert tickets == sorted(set(tickets)) and len({fields["place"] for fields in admissions}) == len(admissions)
    assert len(admissions) >= figures["admitted"]
    tokens = client.hgetall("session:{s}:entries")
    assert len(tokens) == len(admissions)
    for place, token in tokens.items():
        claims = jwt.decode(token, support.ENTRY_KEY, algorithms=["HS256"], audience="s", issuer="anteroom")
        assert claims["jti"] == place
