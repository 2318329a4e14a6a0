"""Metrics and logs: the names the dashboards know, well formed, and never a secret."""

import json
import re
import shutil
import subprocess

import pytest
import requests

import support
import visitors
from test_real_input import free_port

GATEWAY = """anteroom_build_info process_cpu_seconds_total process_resident_memory_bytes process_open_fds process_max_fds
process_start_time_seconds anteroom_redis_up anteroom_redis_commands_total anteroom_redis_command_duration_seconds
anteroom_event_loop_lag_seconds anteroom_clock_difference_seconds anteroom_log_lines_lost_total anteroom_connections anteroom_connections_max
anteroom_connections_closed_total anteroom_http_requests_total anteroom_http_request_duration_seconds anteroom_joins_total
anteroom_refusals_total anteroom_frames_total anteroom_frames_coalesced_total anteroom_sent_bytes_total
anteroom_entry_delivery_seconds anteroom_entries_swept_total anteroom_stream_lag_messages anteroom_stream_lag_seconds
anteroom_messages_bad_total anteroom_draining""".split()
PUBLISHER = """anteroom_build_info process_cpu_seconds_total process_resident_memory_bytes process_open_fds process_max_fds
process_start_time_seconds anteroom_redis_up anteroom_redis_commands_total anteroom_redis_command_duration_seconds
anteroom_event_loop_lag_seconds anteroom_session_waiting anteroom_session_parked anteroom_session_active
anteroom_session_admitted_total anteroom_session_departed_total anteroom_session_held anteroom_session_owner
anteroom_tick_duration_seconds anteroom_tick_late_seconds anteroom_servers anteroom_redis_memory_bytes
anteroom_redis_memory_max_bytes""".split()


@pytest.fixture
def busy(admin, gateway, visit, client):
    """A system that has seen an admission, a loss, a departure and a refusal."""
    admin.create("s", batch=1, intervalMs=100)
    visitors.entry_of(visit(gateway), "s")
    admin("POST", "/admin/sessions/s/pause")
    support.wait_until(lambda: client.hget("session:{s}:config", "status") == "paused", what="the pause")
    lost, left = visit(gateway), visit(gateway)
    lost.wait_event("waiting-state")
    left.wait_event("waiting-state")
    lost.close()
    requests.post(gateway.url("public") + "/api/queue/leave", params={"ticket": left.last_id}, timeout=5)
    left.wait_event("closed")
    support.wait_until(lambda: client.zcard("session:{s}:parked") == 1, what="the park")
    requests.get(gateway.url("public") + "/api/queue/stream?sessionId=nobody", timeout=5)
    return left


def names(text):
    return set(re.findall(r"^# TYPE (\S+)", text, re.M))


def test_the_metrics_have_their_names(busy, gateway, publisher):
    for daemon, expected in ((gateway, GATEWAY), (publisher, PUBLISHER)):
        text = requests.get(daemon.url("metrics") + "/metrics", timeout=5).text
        assert not set(expected) - names(text), set(expected) - names(text)
        assert not re.search(r'(place|user|ticket|address|client)="', text)


def test_the_held_line_says_why(busy, publisher):
    support.wait_until(lambda: support.metric(publisher, "anteroom_session_held", session="s", reason="paused") == 1, what="held: paused")


@pytest.mark.skipif(not shutil.which("promtool"), reason="promtool is not installed (Debian: prometheus)")
def test_promtool_finds_nothing_to_say(busy, gateway, publisher):
    for daemon in (gateway, publisher):
        text = requests.get(daemon.url("metrics") + "/metrics", timeout=5).content
        verdict = subprocess.run(["promtool", "check", "metrics"], input=text, capture_output=True, timeout=30)
        assert verdict.returncode == 0, verdict.stderr.decode()


def test_health(gateway, publisher):
    for daemon in (gateway, publisher):
        for listener in ("metrics",):
            assert requests.get(daemon.url(listener) + "/healthz", timeout=5).status_code == 200
    ready = requests.get(gateway.url("public") + "/readyz", timeout=5).json()
    assert ready == {"status": "ok", "reason": "ready", "redis": "up"}


@pytest.mark.parametrize("form", ["json", "logfmt"])
def test_logs_hold_no_secret(admin, publisher, start_gateway, visit, form):
    gateway = start_gateway(log_level="debug", access_log="all", log_format=form)
    admin.create("s", batch=1, intervalMs=100)
    stream = visit(gateway, query="&access_token=secret-in-a-query")
    visitors.entry_of(stream, "s")
    visit(gateway, ticket=stream.last_id)
    requests.get(gateway.url("public") + f"/api/queue/status?ticket={stream.last_id}", headers={"X-Request-Id": "mine-1"}, timeout=5)
    gateway.wait_log("request", request="mine-1")
    text = gateway.text() + publisher.text()
    for secret in ("eyJ", support.ENTRY_KEY, support.TICKET_KEY, support.ADMIN_TOKEN, "secret-in-a-query", "127.0.0.1:5"):
        assert secret not in text


def test_a_log_that_cannot_be_written_stops_nobody_and_is_counted(admin, folder, redis_server, visit):
    admin.create("s", status="paused")
    public, metrics = (f"127.0.0.1:{free_port()}" for _ in range(2))
    with open("/dev/full", "w") as full:
        gateway = subprocess.Popen([str(support.BUILD / "anteroom-gateway"), f"--redis-url={redis_server.url}", f"--entry-key-file={folder.entry_key}",
                                    f"--ticket-key-file={folder.ticket_key}", f"--listen={public}", f"--metrics-listen={metrics}", "--server-id=gw-full",
                                    "--drain-notice-s=0", "--drain-s=0"], stderr=full)
    try:
        support.wait_until(lambda: answers(f"http://{public}/readyz"), what="a ready gateway")
        visit(f"http://{public}").wait_position(1)
        text = requests.get(f"http://{metrics}/metrics", timeout=5).text
        assert int(re.search(r"^anteroom_log_lines_lost_total (\d+)$", text, re.MULTILINE)[1]) > 0
    finally:
        gateway.terminate()
        assert gateway.wait(20) == 0


def answers(url):
    try:
        return requests.get(url, timeout=5).status_code == 200
    except requests.ConnectionError:
        return False


def test_an_access_log_line_is_one_event(gateway):
    answer = requests.get(gateway.url("public") + "/nothing", headers={"X-Request-Id": "abc:1"}, timeout=5)
    assert answer.headers["X-Request-Id"] == "abc:1"
    line = gateway.wait_log("request", request="abc:1")
    assert line["code"] == 404 and line["level"] == "info" and json.dumps(line)
    odd = requests.get(gateway.url("public") + "/nothing", headers={"X-Request-Id": "a b\"c"}, timeout=5)
    assert re.fullmatch(r"[A-Za-z0-9=;:._-]{1,128}", odd.headers["X-Request-Id"])


def test_pages(admin, gateway):
    admin.create("s")
    page = requests.get(gateway.url("public") + "/room/s", timeout=5)
    assert page.status_code == 200 and "waitroom.js" in page.text and "default-src 'none'" in page.headers["Content-Security-Policy"]
    script = requests.get(gateway.url("public") + "/waitroom.js", timeout=5)
    assert script.headers["Content-Type"].startswith("text/javascript") and "EventSource" in script.text
