"""The metrics are the interface of dashboards and alerts: each by its name, its kind and its labels; the rules and the dashboard
in deploy/ know no others, and each alert fires when it should."""

import json
import re
import shutil
import subprocess

import pytest
import requests

import support
import visitors
from support import wait_until

BOTH = [
    ("anteroom_build_info", "gauge", "program version commit"), ("process_cpu_seconds_total", "counter", ""), ("process_resident_memory_bytes", "gauge", ""),
    ("process_open_fds", "gauge", ""), ("process_max_fds", "gauge", ""), ("process_start_time_seconds", "gauge", ""), ("anteroom_redis_up", "gauge", ""),
    ("anteroom_redis_commands_total", "counter", "command result"), ("anteroom_redis_command_duration_seconds", "histogram", "connection"),
    ("anteroom_event_loop_lag_seconds", "histogram", ""), ("anteroom_clock_difference_seconds", "gauge", ""),
    ("anteroom_log_lines_lost_total", "counter", ""),
]
GATEWAY = BOTH + [
    ("anteroom_connections", "gauge", "session"), ("anteroom_connections_max", "gauge", ""), ("anteroom_connections_closed_total", "counter", "reason"),
    ("anteroom_http_requests_total", "counter", "route method code"), ("anteroom_http_request_duration_seconds", "histogram", "route"),
    ("anteroom_joins_total", "counter", "result"), ("anteroom_refusals_total", "counter", "code"), ("anteroom_frames_total", "counter", "event"),
    ("anteroom_frames_coalesced_total", "counter", ""), ("anteroom_sent_bytes_total", "counter", ""), ("anteroom_entry_delivery_seconds", "histogram", ""),
    ("anteroom_entries_swept_total", "counter", ""), ("anteroom_stream_lag_messages", "gauge", ""), ("anteroom_stream_lag_seconds", "gauge", ""),
    ("anteroom_messages_bad_total", "counter", ""), ("anteroom_draining", "gauge", ""),
]
PUBLISHER = BOTH + [
    ("anteroom_session_waiting", "gauge", "session"), ("anteroom_session_lobby", "gauge", "session"), ("anteroom_session_parked", "gauge", "session"),
    ("anteroom_session_active", "gauge", "session"), ("anteroom_session_stock_left", "gauge", "session"), ("anteroom_session_eta_seconds", "gauge", "session"),
    ("anteroom_session_admitted_total", "counter", "session kind"), ("anteroom_session_departed_total", "counter", "session reason"),
    ("anteroom_session_held", "gauge", "session reason"), ("anteroom_session_owner", "gauge", "session"), ("anteroom_tick_duration_seconds", "histogram", ""),
    ("anteroom_tick_late_seconds", "histogram", ""), ("anteroom_load_tps", "gauge", "key"), ("anteroom_load_age_seconds", "gauge", "key"),
    ("anteroom_eta_error_ratio", "gauge", "session"), ("anteroom_servers", "gauge", ""), ("anteroom_redis_memory_bytes", "gauge", ""),
    ("anteroom_redis_memory_max_bytes", "gauge", ""),
]
HELD = {"paused", "load-missing", "load-high", "active-limit", "sold-out", "not-started"}
ALERTS = support.ROOT / "deploy" / "prometheus" / "alerts.yml"
DASHBOARD = support.ROOT / "deploy" / "grafana" / "anteroom.json"
needs_promtool = pytest.mark.skipif(not shutil.which("promtool"), reason="promtool is not installed (Debian: prometheus)")


def scrape(daemon):
    """{name: (kind, {label names of each series}, {label: values})} of /metrics."""
    kinds, labels, values = {}, {}, {}
    for line in requests.get(daemon.url("metrics") + "/metrics", timeout=5).text.splitlines():
        if line.startswith("# TYPE "):
            _, _, name, kind = line.split(" ")
            kinds[name] = kind
        elif not line.startswith("#"):
            full = re.match(r"\w+", line)[0]
            name = full if full in kinds else re.sub(r"_(bucket|sum|count)$", "", full)
            pairs = [pair for pair in re.findall(r'(\w+)="([^"]*)"', line) if pair[0] != "le"]
            labels.setdefault(name, set()).add(" ".join(key for key, _ in pairs))
            for key, value in pairs:
                values.setdefault((name, key), set()).add(value)
    return {name: (kind, labels[name]) for name, kind in kinds.items()}, values


@pytest.fixture
def busy(admin, gateway, visit, client, publisher, scripts):
    """A system in which everything that is measured has happened."""
    client.set("shop:tps", 150)
    admin.create("s", batch=2, intervalMs=100, stock=100000, adaptive={"minTps": 100, "maxTps": 500, "minCount": 1, "maxCount": 50, "onMissing": "hold", "loadKey": "shop:tps"})
    visitors.entry_of(visit(gateway), "s")
    for _ in range(400):
        scripts.join("s", mode="poll")
    wait_until(lambda: support.metric(publisher, "anteroom_eta_error_ratio", session="s") > 0, timeout=40, what="an ETA put to the test")
    left = visit(gateway)
    left.wait_event("waiting-state")
    requests.post(gateway.url("public") + "/api/queue/leave", params={"ticket": left.last_id}, timeout=5)
    requests.get(gateway.url("public") + "/api/queue/stream?sessionId=nobody", timeout=5)
    wait_until(lambda: support.metric(publisher, "anteroom_servers") == 1, what="a gateway seen")


def test_every_metric_has_its_name_kind_and_labels(busy, gateway, publisher):
    for daemon, rows in ((gateway, GATEWAY), (publisher, PUBLISHER)):
        shown = wait_until(lambda daemon=daemon, rows=rows: (now := scrape(daemon)[0]) and {name for name, _, _ in rows} <= set(now) and now,
                           what=f"{[name for name, _, _ in rows if name not in scrape(daemon)[0]]}")
        assert {name: (kind, {labels}) for name, kind, labels in rows} == {name: shown[name] for name, _, _ in rows}
        assert set(shown) == {name for name, _, _ in rows}, "a metric that no table knows"
    values = scrape(publisher)[1]
    assert values["anteroom_session_held", "reason"] == HELD and values["anteroom_session_admitted_total", "kind"] == {"actual", "virtual"}
    assert values["anteroom_build_info", "program"] == {"publisher"} and values["anteroom_load_tps", "key"] == {"shop:tps"}


NAMES = {name for name, _, _ in GATEWAY + PUBLISHER}
HISTOGRAMS = {name for name, kind, _ in GATEWAY + PUBLISHER if kind == "histogram"}


def metrics_in(expression):
    """The metrics of an expression; a histogram only by its parts."""
    for word in set(re.findall(r"\b(?:anteroom|process)_\w+", expression)):
        part = re.sub(r"_(bucket|sum|count)$", "", word)
        yield part if part in HISTOGRAMS and part != word else word if word not in HISTOGRAMS else f"{word} without a part"


def dashboard_expressions():
    return [target["expr"] for panel in json.loads(DASHBOARD.read_text())["panels"] for target in panel.get("targets", [])]


def test_rules_and_dashboard_know_only_metrics_that_there_are():
    expressions = [*dashboard_expressions(), *re.findall(r"expr: (?:>-\n)?((?:.+\n)(?:          .+\n)*)", ALERTS.read_text())]
    assert len(expressions) > 50
    used = {metric for expression in expressions for metric in metrics_in(expression)}
    assert used <= NAMES, used - NAMES
    boring = {"process_open_fds", "process_max_fds", "process_start_time_seconds", "anteroom_http_request_duration_seconds"}
    assert NAMES - used == boring, "what is measured is shown"


def test_the_dashboard_is_one_grafana_takes():
    dashboard = json.loads(DASHBOARD.read_text())
    panels = dashboard["panels"]
    assert len({panel["id"] for panel in panels}) == len(panels) and dashboard["uid"] == "anteroom" and "id" not in dashboard
    taken = set()
    for panel in panels:
        place = panel["gridPos"]
        cells = {(x, y) for x in range(place["x"], place["x"] + place["w"]) for y in range(place["y"], place["y"] + place["h"])}
        assert not cells & taken and max(x for x, _ in cells) < 24, panel["title"]
        taken |= cells
    variables = {variable["name"] for variable in dashboard["templating"]["list"]}
    assert set(re.findall(r"\$(\w+)", " ".join(dashboard_expressions()))) <= variables | {"__rate_interval"}


@needs_promtool
def test_promtool_takes_the_rules_and_the_dashboards_expressions(tmp_path):
    rules = [{"record": f"panel:{number}", "expr": expression.replace("$__rate_interval", "1m").replace("$session", ".*").replace("$instance", ".*")}
             for number, expression in enumerate(dashboard_expressions())]
    (tmp_path / "panels.yml").write_text(json.dumps({"groups": [{"name": "panels", "rules": rules}]}))
    for path in (ALERTS, tmp_path / "panels.yml"):
        verdict = subprocess.run(["promtool", "check", "rules", str(path)], capture_output=True, text=True, timeout=30)
        assert verdict.returncode == 0, verdict.stdout + verdict.stderr


WELL = {  # a minute a sample, half an hour: nothing is wrong
    'anteroom_build_info{program="publisher"}': "1x60", 'anteroom_redis_up{instance="p:1"}': "1x60", "anteroom_servers": "2x60",
    'anteroom_session_owner{session="s",instance="p:1"}': "1x60", 'anteroom_session_owner{session="s",instance="p:2"}': "0x60",
    'anteroom_session_waiting{session="s"}': "100x60", 'anteroom_session_admitted_total{session="s",kind="actual"}': "0+10x60",
    'anteroom_session_held{session="s",reason="load-missing"}': "0x60", 'anteroom_session_held{session="s",reason="paused"}': "0x60",
    'anteroom_load_age_seconds{key="k"}': "0x60", 'anteroom_stream_lag_seconds{instance="g:1"}': "0.1x60", 'anteroom_stream_lag_messages{instance="g:1"}': "3x60",
    'anteroom_entries_swept_total{instance="g:1"}': "5x60", "anteroom_redis_memory_bytes": "700x60", "anteroom_redis_memory_max_bytes": "1000x60",
    'anteroom_event_loop_lag_seconds_bucket{instance="g:1",le="0.1"}': "0+60x60", 'anteroom_event_loop_lag_seconds_bucket{instance="g:1",le="1"}': "0+60x60",
    'anteroom_event_loop_lag_seconds_bucket{instance="g:1",le="+Inf"}': "0+60x60",
    'anteroom_connections{instance="g:1",session="s"}': "800x60", 'anteroom_connections_max{instance="g:1"}': "1000x60",
}
WRONG = [  # what differs; the alert that says so and its labels
    ({'anteroom_session_held{session="s",reason="load-missing"}': "1x60", 'anteroom_session_admitted_total{session="s",kind="actual"}': "50x60"},
     "AnteroomNobodyAdmitted", {"session": "s", "reason": "load-missing"}),
    ({'anteroom_session_held{session="s",reason="load-missing"}': "1x60"}, "AnteroomNobodyAdmitted", {"session": "s", "reason": "load-missing"}),
    ({'anteroom_session_held{session="s",reason="paused"}': "1x60"}, "AnteroomPauseForgotten", {"session": "s"}),
    ({'anteroom_session_admitted_total{session="s",kind="actual"}': "50x60"}, "AnteroomLineStuck", {"session": "s"}),
    ({'anteroom_load_age_seconds{key="k"}': "0+60x60"}, "AnteroomLoadMissing", {"key": "k"}),
    ({'anteroom_stream_lag_seconds{instance="g:1"}': "2.5x60"}, "AnteroomStreamLag", {"instance": "g:1"}),
    ({'anteroom_stream_lag_messages{instance="g:1"}': "1001x60"}, "AnteroomStreamLag", {"instance": "g:1"}),
    ({'anteroom_entries_swept_total{instance="g:1"}': "5+1x60"}, "AnteroomEntriesSwept", {"instance": "g:1"}),
    ({'anteroom_redis_up{instance="p:1"}': "0x60"}, "AnteroomRedisDown", {"instance": "p:1"}),
    ({"anteroom_redis_memory_bytes": "801x60"}, "AnteroomRedisMemory", {}),
    ({"anteroom_redis_memory_bytes": "900x60", "anteroom_redis_memory_max_bytes": "0x60"}, None, {}),
    ({'anteroom_session_owner{session="s",instance="p:1"}': "0x60"}, "AnteroomNoOwner", {"session": "s"}),
    ({'anteroom_build_info{program="publisher"}': "_x60"}, "AnteroomNoPublisher", {"program": "publisher"}),
    ({"anteroom_servers": "0x60"}, "AnteroomNoGateway", {}),
    ({'anteroom_event_loop_lag_seconds_bucket{instance="g:1",le="0.1"}': "0+50x60"}, "AnteroomEventLoopLag", {"instance": "g:1"}),
    ({'anteroom_connections{instance="g:1",session="s"}': "901x60"}, "AnteroomConnectionsNearMax", {"instance": "g:1"}),
    ({'anteroom_session_waiting{session="s"}': "0x60", 'anteroom_session_admitted_total{session="s",kind="actual"}': "50x60"}, None, {}),
    ({}, None, {}),
]


@needs_promtool
def test_each_alert_fires_when_it_should_and_no_other(tmp_path):
    text = ALERTS.read_text()
    names = re.findall(r"- alert: (\w+)", text)
    assert set(names) == {name for _, name, _ in WRONG if name}
    severities = dict(re.findall(r"- alert: (\w+)\n.*?severity: (\w+)", text, re.S))
    tests = []
    for change, fires, labels in WRONG:
        series = [{"series": name, "values": values} for name, values in {**WELL, **change}.items()]
        all_labels = {"alertname": fires, "alertstate": "firing", "severity": severities.get(fires), **labels}
        samples = [{"labels": "ALERTS{" + ",".join(f'{key}="{value}"' for key, value in all_labels.items()) + "}", "value": 1}] if fires else []
        query = 'ALERTS{alertstate="firing"}'  # which alert with which labels; the words are for people
        tests.append({"interval": "1m", "input_series": series, "promql_expr_test": [{"expr": query, "eval_time": "40m", "exp_samples": samples}]})
    (tmp_path / "test.yml").write_text(json.dumps({"rule_files": [str(ALERTS)], "evaluation_interval": "15s", "tests": tests}))
    verdict = subprocess.run(["promtool", "test", "rules", str(tmp_path / "test.yml")], capture_output=True, text=True, timeout=60)
    assert verdict.returncode == 0, verdict.stdout + verdict.stderr
