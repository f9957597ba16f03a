#!/usr/bin/env python3
"""Whatever comes over the two sockets: calls cut short, mangled, repeated, stacked, of other protocols, held open. The daemon
answers the next caller, keeps no descriptor of them, and its session lives. Speaks TAP.
usage: raw.py CC_SERVER CONNECTIONS [SEED]"""
import json
import os
import random
import socket
import subprocess
import sys
import tempfile
import time

server, count = sys.argv[1], int(sys.argv[2])
seed = int(sys.argv[3]) if len(sys.argv) > 3 else random.randrange(1 << 30)
random.seed(seed)
rows = []


def row(good, label, why=""):
    rows.append(good)
    print("ok" if good else "not ok", len(rows), "-", label, flush=True)
    if not good:
        print("# seed %d: %s" % (seed, why))


base = tempfile.mkdtemp(prefix="ccbox-raw.")
os.makedirs(base + "/proj")
env = {**os.environ, "HOME": base, "XDG_DATA_HOME": base, "XDG_CONFIG_HOME": base}
for gone in ("XDG_RUNTIME_DIR", "CC_SERVER_DATA_DIR"):
    env.pop(gone, None)
daemon = subprocess.Popen([server, "--port", "0"], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, env=env, text=True)
port = int(daemon.stdout.readline().rsplit(":", 1)[1])
path = daemon.stdout.readline().split(" on ", 1)[1].strip()
token = open(base + "/ccbox-server/token").read().strip().encode()


def head(line, *headers, body=b""):
    size = [b"Content-Length: %d" % len(body)] if body else []
    return b"\r\n".join([line + b" HTTP/1.1", b"Host: ccbox", *headers, *size, b"", b""]) + body


calls = [
    head(b"GET /v1/sandboxes"), head(b"GET /healthz"), head(b"POST /v1/sandboxes", body=b"{}"),
    head(b"GET /v1/sandboxes/one/events", b"Last-Event-ID: 5"), head(b"GET /v1/sandboxes/one/events?follow=0&since=99999999999"),
    head(b"POST /v1/sandboxes/one/exec", body=b'{"argv":["echo","x"]}'),
    head(b"POST /v1/sandboxes/one/exec/1/stdin?last=1", body=b"x"), head(b"POST /v1/sandboxes/one/exec", b"Content-Length: 0"),
    head(b"GET /v1/terminals/x", b"Upgrade: websocket", b"Connection: Upgrade", b"Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==",
         b"Sec-WebSocket-Version: 13", b"Sec-WebSocket-Protocol: ccbox.v1"),
    b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\4\0\0\0\0\0", head(b"GET /healthz", b"Connection: Upgrade, HTTP2-Settings",
                                                                b"Upgrade: h2c", b"HTTP2-Settings: AAMAAABkAARAAAAAAAIAAAAA"),
    head(b"POST /v1/sandboxes", b"Transfer-Encoding: chunked") + b"5\r\nhello\r\n0\r\n\r\n",
    head(b"POST /v1/sandboxes", b"Content-Length: 5", b"Content-Length: 6") + b"hello!",
    head(b"POST /v1/sandboxes", b"Content-Length: 99999999999999999999"), head(b"POST /v1/sandboxes", b"Content-Length: -1"),
    head(b"GET /" + b"a" * 9000), head(b"GET /v1/sandboxes/%00%2e%2e%2f"), head(b"GET /", *[b"X: y"] * 3000),
    head(b"GET /v1/sandboxes?" + b"a=b&" * 300), b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03", b"\r\n\r\n", b"\0" * 100,
]


def connect():
    if random.random() < 0.5:
        s = socket.socket(socket.AF_UNIX)
        s.settimeout(10)
        s.connect(path)
    else:
        s = socket.create_connection(("127.0.0.1", port), timeout=10)
    return s


def mangle():
    data = bytearray(random.choice(calls))
    for _ in range(random.choice([0, 0, 1, 3, 10])):
        at, kind = random.randrange(len(data)), random.random()
        if kind < 0.4:
            data[at] = random.randrange(256)
        elif kind < 0.6:
            del data[at:at + random.randrange(1, 20)]
        else:
            data[at:at] = random.choice(calls)[:random.randrange(1, 60)]
        data = data or bytearray(b"x")
    if random.random() < 0.3:
        data += random.choice(calls) * random.randrange(1, 4)
    if random.random() < 0.5:
        data = data.replace(b"Host: ccbox", b"Host: 127.0.0.1\r\nAuthorization: Bearer " + token)
    return bytes(data[:random.randrange(len(data) + 1)] if random.random() < 0.3 else data)


def ask(line, body=b"", wait=60):
    s = socket.socket(socket.AF_UNIX)
    s.settimeout(wait)
    s.connect(path)
    s.sendall(head(line, b"Connection: close", body=body))
    text = b""
    while True:
        part = s.recv(65536)
        if not part:
            return text.split(b"\r\n\r\n", 1)[-1]
        text += part


def descriptors():
    return len(os.listdir("/proc/%d/fd" % daemon.pid))


try:
    spec = {"sessionId": "one", "bindMounts": [{"hostPath": base + "/proj"}]}
    row(json.loads(ask(b"POST /v1/sandboxes", json.dumps(spec).encode()))["state"] == "warm", "a session runs")
    before, held, answered = descriptors(), [], True
    for n in range(count):
        try:
            s = connect()
            s.sendall(mangle())
            if random.random() < 0.2:
                held.append(s)
            else:
                s.close()
        except OSError:
            pass
        while len(held) > 100:
            held.pop(random.randrange(len(held))).close()
        if n % 100 == 99:
            answered = answered and b'"ok"' in ask(b"GET /healthz")
    row(answered, "who comes between them is answered")
    row(daemon.poll() is None, "the daemon lives")
    for s in held:
        s.close()
    # a few are opened late and stay (the database's); one for each bad call would be hundreds
    for _ in range(300):
        if descriptors() <= before + 3:
            break
        time.sleep(0.1)
    row(descriptors() <= before + 3, "no descriptor is kept", (before, descriptors()))
    out = ask(b"POST /v1/sandboxes/one/exec", b'{"argv":["echo","still"]}')
    row(b"still" in out, "the session lives", out)
    row(json.loads(ask(b"DELETE /v1/sandboxes/one"))["state"] == "destroyed", "and ends when it is told to")
finally:
    daemon.terminate()
    row(daemon.wait(60) == 0, "the daemon ends well")
    subprocess.run(["rm", "-rf", base])
print("1..%d" % len(rows))
sys.exit(0 if all(rows) else 1)
