"""The waiting page: the built-in one, or an operator's own."""

import pytest
import requests

import support

FILES = {"room.html": ("/room/s", "text/html"), "room.css": ("/room.css", "text/css"), "waitroom.js": ("/waitroom.js", "text/javascript")}


def page(gateway, name):
    path, kind = FILES[name]
    answer = requests.get(gateway.url("public") + path, timeout=5)
    assert answer.status_code == 200 and answer.headers["Content-Type"] == f"{kind}; charset=utf-8"
    assert answer.headers["Cache-Control"] == "public, max-age=60" and "default-src 'none'" in answer.headers["Content-Security-Policy"]
    return answer.content


def built_in(name):
    return (support.ROOT / "gateway" / "web" / name).read_bytes()


def test_an_operators_own_files_and_the_built_in_ones_for_the_rest(start_gateway, tmp_path):
    web = tmp_path / "web"
    web.mkdir()
    (web / "room.css").write_bytes(b"body { color: red }" + b"\xed\x95\x9c\x00" * 3)
    (web / "room.html").write_bytes(b"x" * 131072)
    (web / "secret.txt").write_text("not served")
    gateway = start_gateway(web_dir=web)
    assert page(gateway, "room.css") == (web / "room.css").read_bytes()
    assert page(gateway, "room.html") == b"x" * 131072
    assert page(gateway, "waitroom.js") == built_in("waitroom.js")
    (web / "room.css").write_text("changed")  # read at the start only
    assert page(gateway, "room.css") != b"changed"
    for path in ("/secret.txt", "/room.html", "/../secret.txt"):
        assert requests.get(gateway.url("public") + path, timeout=5).status_code == 404


def test_without_a_folder_all_are_built_in(gateway):
    for name in FILES:
        assert page(gateway, name) == built_in(name)


@pytest.mark.parametrize("case", ["no folder", "a file", "too long", "empty", "a folder in its place"])
def test_a_bad_folder_stops_the_start(start_gateway, tmp_path, case):
    web = tmp_path / "web"
    if case == "a file":
        web.write_text("x")
    elif case != "no folder":
        web.mkdir()
        if case == "a folder in its place":
            (web / "room.html").mkdir()
        else:
            (web / "room.html").write_bytes(b"x" * 131073 if case == "too long" else b"")
    gateway = start_gateway(wait=False, web_dir=web)
    assert gateway.exit_code() == 2 and "--web-dir" in gateway.text()
