"""Network namespaces of a run's own: nothing outside is seen or touched. Needs root and iproute2 (`possible`)."""

import contextlib
import ctypes
import os
import shutil
import subprocess

NEWNET = 0x40000000
NEAR, FAR = "10.99.0.1", "10.99.0.2"  # the ends of a Wire
libc = ctypes.CDLL(None, use_errno=True)


def check(result):
    if result != 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))


def possible():
    """Whether this machine lets us have one."""
    return all(map(shutil.which, ("unshare", "ip"))) and subprocess.run(["unshare", "--net", "ip", "link", "set", "lo", "up"],
                                                                        stderr=subprocess.DEVNULL).returncode == 0


def ip(*words):
    subprocess.run(["ip", *words], check=True)


@contextlib.contextmanager
def elsewhere(space=None):
    """In SPACE, or in a new one; sockets and processes that are made meanwhile stay there."""
    home = os.open("/proc/thread-self/ns/net", os.O_RDONLY | os.O_CLOEXEC)
    try:
        if space is None:
            check(libc.unshare(NEWNET))
            ip("link", "set", "lo", "up")
        else:
            check(libc.setns(space, NEWNET))
        yield
    finally:
        check(libc.setns(home, NEWNET))
        os.close(home)


class Wire:
    """Between here (NEAR) and a namespace with nothing else in it (FAR)."""

    def __enter__(self):
        with elsewhere():
            self.space = os.open("/proc/thread-self/ns/net", os.O_RDONLY | os.O_CLOEXEC)
            self.anchor = subprocess.Popen(["cat"], stdin=subprocess.PIPE, stdout=subprocess.DEVNULL)  # by its pid `ip` finds it
        ip("link", "add", "near", "type", "veth", "peer", "name", "far", "netns", str(self.anchor.pid))
        ip("addr", "add", NEAR + "/24", "dev", "near")
        ip("link", "set", "near", "up")
        with self.far():
            ip("addr", "add", FAR + "/24", "dev", "far")
            ip("link", "set", "far", "up")
        return self

    def far(self):
        return elsewhere(self.space)

    def cut(self):
        """Not a byte passes from now on, and nobody is told."""
        with self.far():
            ip("link", "set", "far", "down")

    def __exit__(self, *_):
        ip("link", "del", "near")
        self.anchor.communicate()
        os.close(self.space)
