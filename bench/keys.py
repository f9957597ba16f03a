#!/usr/bin/env python3
"""Keystroke echo through the daemon's WebSocket against the smallest forkpty + libwebsockets server, in the same run.

usage: keys.py BUILD [ROUNDS]      exits 1 on a missed bar
"""
import http.client
import json
import os
import shutil
import socket
import subprocess
import sys
import tempfile
import time

BUILD = os.path.abspath(sys.argv[1])
ROUNDS = sys.argv[2] if len(sys.argv) > 2 else '3000'
BARS = (1.5, 2.0)


class Local(http.client.HTTPConnection):
    def __init__(self, path):
        super().__init__('ccbox')
        self.path = path

    def connect(self):
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.connect(self.path)


def post(sock, path, body):
    c = Local(sock)
    c.request('POST', path, json.dumps(body))
    return json.loads(c.getresponse().read())


def main():
    base = tempfile.mkdtemp(prefix='ccbox-keys.', dir='/var/tmp')
    env = {**os.environ, 'XDG_DATA_HOME': base, 'HOME': base}
    env.pop('XDG_RUNTIME_DIR', None)
    ours = subprocess.Popen([os.path.join(BUILD, 'cc_server'), '--port', '0'], env=env, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    try:
        port = ours.stdout.readline().strip().rsplit(':', 1)[1]
        sock = ours.stdout.readline().strip().split(' ', 2)[2]
        token = open(os.path.join(base, 'ccbox-server', 'token')).read().strip()
        missed = 0
        print('| keystroke echo | smallest server | ccbox | ratio | bar |\n|---|---|---|---|---|')
        for backend in ('none', 'native'):
            small = subprocess.Popen([os.path.join(BUILD, 'bench-keys'), 'serve'], stdout=subprocess.PIPE, text=True)
            small_port = small.stdout.readline().strip()
            tid = post(sock, '/v1/terminals', {'shell': '/bin/cat', 'backend': backend})['id']
            time.sleep(0.5)
            out = subprocess.run([os.path.join(BUILD, 'bench-keys'), 'measure', ROUNDS, small_port, '/', '0', '-',
                                  port, f'/v1/terminals/{tid}/io', '8', token], capture_output=True, text=True)
            if out.returncode:
                sys.exit(out.stderr)
            a, b = [[float(v) for v in line.split()] for line in out.stdout.split('\n')[:2]]
            for i, name in enumerate(('p50', 'p99')):
                over = b[i] / a[i] > BARS[i]
                missed += over
                print(f'| {backend}, {name} | {a[i]:.0f} us | {b[i]:.0f} us | {b[i] / a[i]:.2f} | {BARS[i]:.2f}{" **missed**" if over else ""} |')
            small.wait(10)
    finally:
        ours.terminate()
        ours.wait(20)
        shutil.rmtree(base, ignore_errors=True)
    return 1 if missed else 0


sys.exit(main())
