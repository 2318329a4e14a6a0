"""Somebody who reads nothing for a while hears the newest when they read again, and what was between is not kept for them."""

import socket
import time

import support
import visitors

NOTICES = 400  # of a thousand bytes: more than the sockets of both sides hold


def test_who_reads_again_hears_the_newest_and_not_all_between(admin, gateway, client):
    admin.create("s", status="paused")
    host, port = gateway.address("public").split(":")
    with socket.socket() as slow:
        slow.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        slow.settimeout(5)
        slow.connect((host, int(port)))
        slow.sendall(b"GET /api/queue/stream?sessionId=s HTTP/1.0\r\nHost: x\r\nAccept: text/event-stream\r\n\r\n")
        support.wait_until(lambda: client.zcard("session:{s}:waiting") == 1, what="the join")
        other = visitors.Stream(gateway.url("public"), "s")
        other.wait_event("waiting-state")
        epoch, at = client.hget("session:{s}:state", "epoch"), 1
        for number in range(NOTICES):
            text = f"notice {number} " + "x" * 980
            client.xadd("server:gw-1:stream", {"type": "notice", "session": "s", "epoch": epoch, "message": text, "at": at + number})
            other.wait(lambda text=text: any(event["data"]["message"] == text for event in other.named("notice")), what=text)
        assert support.metric(gateway, "anteroom_frames_coalesced_total") > 0
        # The walks over everybody are done: only the drained socket brings the newest now.
        support.wait_until(lambda begun=time.monotonic(): time.monotonic() - begun > 1.5, what="the walks to be over")
        heard, deadline = b"", time.monotonic() + 2  # a frame is refreshed after 5 s in any case
        while b"notice %d " % (NOTICES - 1) not in heard:
            slow.settimeout(max(0.01, deadline - time.monotonic()))
            heard += slow.recv(65536)
        assert heard.count(b"event: notice") < NOTICES
        other.close()
