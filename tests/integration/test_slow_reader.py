"""Somebody who reads nothing for a while hears the newest when they read again, and what was between is not kept for them."""

import socket
import time

import pytest
import support
import visitors

NOTICES = 400  # of a thousand bytes: more than the sockets of both sides hold
REFRESH_S = 5  # so long after a change everybody is told once more


@pytest.mark.parametrize("where", ["waiting", "lobby"])
def test_who_reads_again_hears_the_newest_and_not_all_between(admin, gateway, client, where):
    admin.create("s", **({"status": "paused"} if where == "waiting" else {"startsAt": int(time.time() * 1000) + 3600000}))
    frame = "waiting-state" if where == "waiting" else "lobby"
    host, port = gateway.address("public").split(":")
    with socket.socket() as slow:
        slow.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        slow.settimeout(5)
        slow.connect((host, int(port)))
        slow.sendall(b"GET /api/queue/stream?sessionId=s HTTP/1.0\r\nHost: x\r\nAccept: text/event-stream\r\n\r\n")
        support.wait_until(lambda: client.zcard("session:{s}:" + where) == 1, what="the join")
        other = visitors.Stream(gateway.url("public"), "s")
        other.wait_event(frame)
        epoch, number = client.hget("session:{s}:state", "epoch"), 0

        def announce(count):
            nonlocal number
            for number in range(number + 1, number + 1 + count):
                text = f"notice {number} " + "x" * 980
                client.xadd("server:gw-1:stream", {"type": "notice", "session": "s", "epoch": epoch, "message": text, "at": number})
                other.wait(lambda text=text: any(event["data"]["message"] == text for event in other.named("notice")), what=text)
            return support.metric(gateway, "anteroom_frames_coalesced_total")

        put_off = announce(NOTICES)
        assert put_off > 0
        for _ in range(5):  # until the very last walk found the socket full: only its draining brings the newest then
            support.wait_until(lambda begun=time.monotonic(): time.monotonic() - begun > REFRESH_S + 1.5, what="the walks to be over")
            told = support.metric(gateway, "anteroom_frames_coalesced_total")
            if told > put_off or where == "lobby":  # which has no such walk
                break
            put_off = announce(20)  # the kernel had found room for more
        else:
            pytest.fail("the socket was never full")
        heard = b""
        slow.settimeout(5)
        while b"notice %d " % number not in heard:
            heard += slow.recv(65536)
        assert heard.count(b"event: notice") < number
        assert support.metric(gateway, "anteroom_frames_coalesced_total") == told
        other.close()
