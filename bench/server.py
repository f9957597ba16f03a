#!/usr/bin/env python3
"""Figures of the daemon: the next command over its socket, many sessions, many events, and what a long row of sessions leaves.
Exits 1 on a missed bar. usage: server.py BUILD [ROW...]      rows: exec launches idle events soak"""
import json
import os
import socket
import statistics
import subprocess
import sys
import tempfile
import threading
import time

BUILD = os.path.abspath(sys.argv[1])
ROWS = sys.argv[2:] or ["exec", "launches", "idle", "events", "soak"]
SOAK = int(os.environ.get("CC_SOAK", "300"))
BASE = tempfile.mkdtemp(prefix="ccbox-bench.", dir="/var/tmp")
PROJECT = os.path.join(BASE, "proj")
os.makedirs(PROJECT)
ENV = {**os.environ, "HOME": BASE, "XDG_DATA_HOME": BASE, "XDG_CONFIG_HOME": BASE}
for gone in ("XDG_RUNTIME_DIR", "CC_SERVER_DATA_DIR"):
    ENV.pop(gone, None)
daemon = subprocess.Popen([BUILD + "/cc_server", "--port", "0"], stdout=subprocess.PIPE, env=ENV, text=True)
daemon.stdout.readline()
SOCKET = daemon.stdout.readline().split(" on ", 1)[1].strip()
ENV["CC_SERVER_SOCKET"] = SOCKET
missed = []
print("| work | figure | bar |\n|---|---|---|")


def say(work, figure, bar, good):
    print("| %s | %s | %s%s |" % (work, figure, bar, "" if good else " **missed**"), flush=True)
    if not good:
        missed.append(work)


def open_call(line, body=None):
    s = socket.socket(socket.AF_UNIX)
    s.settimeout(120)
    s.connect(SOCKET)
    data = json.dumps(body).encode() if body is not None else b""
    s.sendall(line.encode() + b" HTTP/1.1\r\nHost: c\r\nConnection: close\r\nContent-Length: %d\r\n\r\n" % len(data) + data)
    return s


def call(line, body=None):
    s, parts = open_call(line, body), []
    while True:
        part = s.recv(1 << 16)
        if not part:
            break
        parts.append(part)
    s.close()
    head, text = b"".join(parts).split(b"\r\n\r\n", 1)
    return int(head.split()[1]), text


def launch(name):
    return call("POST /v1/sandboxes", {"sessionId": name, "bindMounts": [{"hostPath": PROJECT}]})


def stop(name):
    return call("DELETE /v1/sandboxes/" + name)


def at_once(function, names):
    results = {}
    threads = [threading.Thread(target=lambda n=n: results.__setitem__(n, function(n)[0])) for n in names]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    return results


def processes():
    """Ours: the daemon and everything below it."""
    parents = {}
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            parents[int(pid)] = int(open("/proc/%s/stat" % pid).read().rsplit(")", 1)[1].split()[1])
        except OSError:
            pass
    found, grown = {daemon.pid}, True
    while grown:
        more = {p for p, parent in parents.items() if parent in found} - found
        found |= more
        grown = bool(more)
    return found


def memory(pids):
    total = 0
    for pid in pids:
        try:
            for line in open("/proc/%d/smaps_rollup" % pid):
                if line.startswith("Pss:"):
                    total += int(line.split()[1])
        except OSError:
            pass
    return total / 1024


def disk():
    """What lies below the data directory, in MiB, and how many names there are in all that the daemon may write to."""
    size, names = 0, 0
    for top in (BASE, "/sys/fs/cgroup"):
        for place, dirs, files in os.walk(top):
            ours = [n for n in dirs + files if top == BASE or n.startswith("ccbox-session-%d-" % daemon.pid)]
            names += len(ours)
            if top == BASE:
                size += sum(os.lstat(os.path.join(place, n)).st_blocks for n in files) * 512
    return size / 2 ** 20, names


def ticks(pids):
    total = 0
    for pid in pids:
        try:
            fields = open("/proc/%d/stat" % pid).read().rsplit(")", 1)[1].split()
            total += int(fields[11]) + int(fields[12])
        except OSError:
            pass
    return total


def bench_exec():
    launch("warm")
    out = subprocess.run([BUILD + "/bench-server", "warm", "600", "/bin/true"], env=ENV, capture_output=True, text=True, check=True).stdout
    a, b, a99, b99 = map(float, out.split())
    say("the next command over the socket, to a plain fork and exec (%.2f, %.2f ms)" % (a / 1000, b / 1000), "%.2f" % (b / a), "2.00", b / a <= 2)
    stop("warm")


def bench_launches():
    names = ["n%d" % i for i in range(50)]
    start = time.perf_counter()
    results = at_once(launch, names)
    seconds = time.perf_counter() - start
    failed = [n for n, status in results.items() if status != 201]
    say("50 sessions launched at once (%.1f s)" % seconds, "%d failed" % len(failed), "0", not failed)
    at_once(stop, names)


def bench_idle():
    names = ["i%d" % i for i in range(200)]
    for at in range(0, 200, 20):
        at_once(launch, names[at:at + 20])
    pids = processes()
    mib = memory(pids)
    say("200 idle sessions, all processes (%d), proportional memory" % len(pids), "%.0f MiB" % mib, "1229 MiB", mib <= 1229)
    before, start = ticks(pids), time.perf_counter()
    time.sleep(20)
    share = (ticks(pids) - before) / os.sysconf("SC_CLK_TCK") / (time.perf_counter() - start) * 100
    say("the same, CPU of one core", "%.2f %%" % share, "1 %", share <= 1)
    for at in range(0, 200, 20):
        at_once(stop, names[at:at + 20])


def bench_events():
    """Three rounds: what else the machine does falls into one of them."""
    rates, missing, total = [], 0, 0
    for _ in range(3):
        events, seconds, counts = one_row_of_events()
        rates.append(events / seconds)
        missing += sum(c != events for c in counts)
        total += events
    say("events of one command to 5 readers and its caller (%d; median of three)" % (total / 3), "%.0f/s" % statistics.median(rates), "10000/s",
        statistics.median(rates) >= 10000)
    say("the same: readers that missed one", "%d of 15" % missing, "0", not missing)


def one_row_of_events():
    """A command that writes a line and waits until it was taken, so that each is an event; five readers have them all."""
    launch("events")
    lines, counts = 50000, [0] * 5
    script = ("import fcntl, os, struct, termios\n"
              "for i in range(%d):\n"
              "    os.write(1, b'a line of output\\n')\n"
              "    while struct.unpack('i', fcntl.ioctl(1, termios.FIONREAD, b'    '))[0]: pass\n" % lines)

    def read(which):
        s, tail, seen = open_call("GET /v1/sandboxes/events/events?format=lines"), b"", 0
        while True:
            part = s.recv(1 << 18)
            if not part:
                break
            text = tail + part
            end = text.rfind(b"\n") + 1
            seen += text.count(b'"type":"stdout"', 0, end) - (10 ** 9 if b'"lost":' in text else 0)
            tail = text[end:]
        counts[which] = seen

    readers = [threading.Thread(target=read, args=(i,)) for i in range(5)]
    for r in readers:
        r.start()
    time.sleep(0.5)
    start = time.perf_counter()
    status, text = call("POST /v1/sandboxes/events/exec", {"argv": ["python3", "-c", script]})
    seconds = time.perf_counter() - start
    events = text.count(b'"type":"stdout"')
    stop("events")
    for r in readers:
        r.join()
    return events, seconds, counts


def bench_soak():
    for i in range(20):
        launch("s")
        stop("s")
    time.sleep(1)
    names = disk()[1]
    pids, files = len(processes()), len(os.listdir("/proc/%d/fd" % daemon.pid))
    mib = memory([daemon.pid])
    for i in range(SOAK):
        if i == SOAK // 2:  # of five thousand; by then the books have the two thousand that they keep
            size = disk()[0]
        status, _ = launch("s%d" % (i % 7))
        if status != 201:
            say("soak", "launch %d failed" % i, "0", False)
            return
        stop("s%d" % (i % 7))
    time.sleep(1)
    size2, names2 = disk()
    pids2, files2, mib2 = len(processes()), len(os.listdir("/proc/%d/fd" % daemon.pid)), memory([daemon.pid])
    say("%d sessions launched and destroyed: processes, descriptors" % SOAK, "%+d, %+d" % (pids2 - pids, files2 - files), "+0, +0", pids2 <= pids and files2 <= files)
    say("the same: disk in the second half (%.1f MiB), names of files and groups" % size2, "%+.1f MiB, %+d" % (size2 - size, names2 - names), "+4 MiB, +0",
        size2 - size <= 4 and names2 <= names)
    say("the same: memory of the daemon", "%+.2f MiB" % (mib2 - mib), "2 MiB", mib2 - mib <= 2)


try:
    for name in ROWS:
        globals()["bench_" + name]()
finally:
    daemon.terminate()
    daemon.wait(120)
    subprocess.run(["rm", "-rf", BASE])
sys.exit(1 if missed else 0)
