#!/usr/bin/env python3
"""A push through the gateway against the same push straight to git http-backend: one commit, and 300 MB that do not compress.
Interleaved rounds, medians, as a table; exits 1 on a missed bar. usage: push.py BUILD [ROUNDS] [MEGABYTES]"""
import sys
sys.path.pop(0)  # Python's own `copy` is meant, not the one beside this file
import http.server
import json
import os
import shutil
import statistics
import subprocess
import tempfile
import threading
import time

BUILD = os.path.abspath(sys.argv[1])
ROUNDS = int(sys.argv[2]) if len(sys.argv) > 2 else 7
MEGABYTES = int(sys.argv[3]) if len(sys.argv) > 3 else 300
HERE = os.path.dirname(os.path.abspath(__file__))
SECRET = "0123456789abcdef" * 3
BAR, MEMORY_BAR = 1.1, 8.0


def git(where, *words, **more):
    subprocess.run(["git", "-C", where, *words], check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, **more)


class Direct(http.server.BaseHTTPRequestHandler):
    """git http-backend as it is; the body goes to it as it comes."""
    protocol_version = "HTTP/1.1"
    wbufsize = 1 << 16  # head and body in one piece, and no waiting for an acknowledgement
    disable_nagle_algorithm = True
    top = ""

    def log_message(self, *words):
        pass

    def answer(self, method):
        path, _, query = self.path.partition("?")
        env = dict(os.environ, GIT_PROJECT_ROOT=self.top, GIT_HTTP_EXPORT_ALL="1", REMOTE_USER="x", REQUEST_METHOD=method,
                   PATH_INFO=path, QUERY_STRING=query, CONTENT_TYPE=self.headers.get("Content-Type", ""),
                   GIT_PROTOCOL=self.headers.get("Git-Protocol", ""))
        if "Content-Length" in self.headers:
            env["CONTENT_LENGTH"] = self.headers["Content-Length"]
        process = subprocess.Popen(["git", "http-backend"], env=env, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        if method == "POST" and "Content-Length" in self.headers:
            process.stdin.write(self.rfile.read(int(self.headers["Content-Length"])))
        elif method == "POST":
            while size := int(self.rfile.readline(), 16):
                process.stdin.write(self.rfile.read(size))
                self.rfile.readline()
            self.rfile.readline()
        process.stdin.close()
        head, _, body = process.stdout.read().partition(b"\r\n\r\n")
        process.wait()
        self.send_response(200)
        for line in head.decode().split("\r\n"):
            name, _, value = line.partition(": ")
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def do_GET(self):
        self.answer("GET")

    def do_POST(self):
        self.answer("POST")


def status_of(pid, key):
    for line in open("/proc/%d/status" % pid):
        if line.startswith(key):
            return int(line.split()[1]) / 1024
    return 0.0


class Place:
    def __init__(self, top):
        self.top = top
        os.makedirs(top + "/up/up.test/o")
        os.makedirs(top + "/dir", 0o700)
        git("/", "init", "-q", top + "/origin")
        for i in range(2000):
            os.makedirs(top + "/origin/d%d" % (i % 50), exist_ok=True)
            with open(top + "/origin/d%d/f%d" % (i % 50, i), "w") as out:
                out.write("line\n" * (i % 100))
        git(top + "/origin", "add", ".")
        git(top + "/origin", "commit", "-qm", "base")
        git(top, "clone", "-q", top + "/origin", top + "/agent")
        git(top, "clone", "-q", "--bare", top + "/origin", top + "/up/up.test/o/r")
        rules = subprocess.run([BUILD + "/tests/integration/push-rules", top + "/agent"], check=True, stdout=subprocess.PIPE).stdout
        with open(top + "/start", "w") as out:
            json.dump({"runId": "r", "secret": SECRET, "dir": top + "/dir", "objects": top + "/origin/.git", "root": top + "/agent",
                       "rules": json.loads(rules), "repositories": ["up.test/o/r"],
                       "push": [{"verdict": "allow", "what": ["create", "update", "force", "delete"]}]}, out)
        self.daemon = subprocess.Popen([sys.executable, HERE + "/../tests/integration/push_daemon.py", BUILD + "/cc-push", top + "/start",
                                        top + "/up", top + "/log"], stdout=subprocess.PIPE, text=True)
        self.through = "http://127.0.0.1:%d/up.test/o/r" % int(self.daemon.stdout.readline())
        self.gateway = int(self.daemon.stdout.readline())
        Direct.top = top + "/up"
        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Direct)
        threading.Thread(target=self.server.serve_forever, daemon=True).start()
        self.direct = "http://127.0.0.1:%d/up.test/o/r" % self.server.server_address[1]

    def push(self, url, ref):
        start = time.monotonic()
        git(self.top + "/agent", "-c", "http.extraHeader=X-CC-Run: " + SECRET, "push", "-q", url, "HEAD:refs/heads/" + ref)
        took = (time.monotonic() - start) * 1e3
        git(self.top + "/up/up.test/o/r", "update-ref", "-d", "refs/heads/" + ref)
        git(self.top + "/up/up.test/o/r", "prune", "--expire=now")
        git(self.top + "/up/up.test/o/r", "repack", "-adq")
        return took

    def commit(self, name, data):
        with open(self.top + "/agent/" + name, "wb") as out:
            out.write(data)
        git(self.top + "/agent", "add", ".")
        git(self.top + "/agent", "commit", "-qm", name)

    def done(self):
        self.daemon.terminate()
        self.daemon.wait()
        self.server.shutdown()


def row(label, place, rounds, commit):
    direct, through = [], []
    for i in range(rounds):
        commit(i)
        pair = [(place.direct, direct), (place.through, through)]
        for url, times in pair if i % 2 else pair[::-1]:
            times.append(place.push(url, "b%d" % i))
    one, two = statistics.median(direct), statistics.median(through)
    print("%-12s direct %8.0f ms   through %8.0f ms   ratio %.2f" % (label, one, two, two / one))
    return two / one


def main():
    top = tempfile.mkdtemp(prefix="ccbox-bench-push.")
    os.environ.update(GIT_AUTHOR_NAME="b", GIT_AUTHOR_EMAIL="b@example.test", GIT_COMMITTER_NAME="b", GIT_COMMITTER_EMAIL="b@example.test",
                      GIT_CONFIG_NOSYSTEM="1", GIT_CONFIG_GLOBAL="/dev/null", GIT_TERMINAL_PROMPT="0")
    place = Place(top)
    try:
        missed = row("one commit", place, ROUNDS, lambda i: place.commit("small%d" % i, b"%d\n" % i)) > BAR
        idle = status_of(place.gateway, "VmRSS")
        with open("/proc/%d/clear_refs" % place.gateway, "w") as out:
            out.write("5")
        piece = MEGABYTES << 20
        missed |= row("%d MB" % MEGABYTES, place, min(ROUNDS, 3), lambda i: place.commit("large", os.urandom(piece))) > BAR
        more = status_of(place.gateway, "VmHWM") - idle
        print("memory       idle %.1f MiB, at most %.1f MiB more" % (idle, more))
        missed |= more > MEMORY_BAR
    finally:
        place.done()
        shutil.rmtree(top)
    sys.exit(1 if missed else 0)


main()
