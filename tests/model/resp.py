"""A small Redis client over a unix socket, and a server of the test's own.

The simulation makes over half a million calls, one after the other because each answer decides what comes next, so the
client does nothing but encode and parse.
"""
import os
import shutil
import socket
import subprocess
import tempfile

REDIS_SERVER = '/usr/bin/redis-server'


class RedisError(Exception):
    """An error reply. Returned, not raised, by Connection.pipeline; raised by Connection.call."""


class Connection:
    def __init__(self, path):
        self.socket = socket.socket(socket.AF_UNIX)
        self.socket.connect(path)
        self.file = self.socket.makefile('rb', 1 << 16)

    def close(self):
        self.file.close()
        self.socket.close()

    @staticmethod
    def encode(args):
        parts = ['*%d\r\n' % len(args)]
        for arg in args:
            text = arg if type(arg) is str else str(arg)
            parts.append('$%d\r\n%s\r\n' % (len(text), text))
        return ''.join(parts).encode('latin-1')

    def read(self):
        line = self.file.readline()
        if not line.endswith(b'\r\n'):
            raise ConnectionError('redis-server went away')
        kind, value = line[0], line[1:-2]
        if kind == 36:  # $
            length = int(value)
            return None if length < 0 else self.file.read(length + 2)[:-2].decode('latin-1')
        if kind == 58:  # :
            return int(value)
        if kind == 42:  # *
            length = int(value)
            return None if length < 0 else [self.read() for _ in range(length)]
        if kind == 43:  # +
            return value.decode('latin-1')
        return RedisError(value.decode('latin-1'))

    def call(self, *args):
        self.socket.sendall(self.encode(args))
        reply = self.read()
        if isinstance(reply, RedisError):
            raise reply
        return reply

    def pipeline(self, commands):
        self.socket.sendall(b''.join([self.encode(command) for command in commands]))
        return [self.read() for _ in commands]


class Server:
    """A redis-server in a folder of its own, ended by its own pid."""

    def __init__(self):
        self.folder = tempfile.mkdtemp(prefix='anteroom-model-')
        path = os.path.join(self.folder, 'redis.sock')
        # Hashes stay lists in order of insertion: the order of a hash table depends on a secret of the process, and the
        # same seed has to replay the same run.
        self.process = subprocess.Popen(
            [REDIS_SERVER, '--port', '0', '--unixsocket', path, '--save', '', '--appendonly', 'no', '--dir', self.folder,
             '--hash-max-listpack-entries', '1000000', '--hash-max-listpack-value', '4096', '--loglevel', 'warning',
             '--daemonize', 'no', '--unixsocketperm', '700'],
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        try:
            self.connection = self.connect(path)
        except BaseException:
            self.stop()
            raise

    def connect(self, path):
        """Waits for the socket by asking the process, not the clock: each try takes as long as a fork of `true`."""
        for _ in range(5000):
            if self.process.poll() is not None:
                raise SystemExit('redis-server did not start: ' + self.process.stdout.read().decode('latin-1'))
            try:
                connection = Connection(path)
                break
            except OSError:
                subprocess.run(['true'], check=True)
        else:
            raise SystemExit('redis-server did not open its socket')
        info = connection.call('INFO', 'server')
        assert 'process_id:%d\r\n' % self.process.pid in info, 'this is not the server that was started here'
        assert connection.call('DBSIZE') == 0
        return connection

    def stop(self):
        if self.process.poll() is None:
            self.process.terminate()
            self.process.wait()
        self.process.stdout.close()
        shutil.rmtree(self.folder, ignore_errors=True)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.connection.close()
        self.stop()
