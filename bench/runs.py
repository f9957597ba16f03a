#!/usr/bin/env python3
"""From the request for a run to the agent's first word, against the same agent started bare with the same words: Claude Code
and a stand-in for its service, interleaved, medians. Exits 1 on a missed bar. usage: runs.py BUILD [ROUNDS]"""
import http.client
import json
import os
import shutil
import socket
import statistics
import subprocess
import sys
import tempfile
import time

build = os.path.abspath(sys.argv[1])
rounds = int(sys.argv[2]) if len(sys.argv) > 2 else 15
source = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
BAR = 1.15

clients = subprocess.run(["sh", source + "/tools/clients.sh", "claude"], capture_output=True, text=True)
if clients.returncode:
    sys.exit("no Claude Code: " + clients.stdout + clients.stderr)
clients = clients.stdout.strip()
base = tempfile.mkdtemp(prefix="ccbox-bench.")
project = base + "/proj"
for name in ("/home", "/proj", "/bin", "/config/ccbox"):
    os.makedirs(base + name)
os.symlink(clients + "/claude/node_modules/@anthropic-ai/claude-code-linux-x64/claude", base + "/bin/claude")
env = {k: v for k, v in os.environ.items() if not k.startswith(("XDG_", "CC_SERVER_"))}
env |= {"HOME": base + "/home", "XDG_CONFIG_HOME": base + "/config", "XDG_DATA_HOME": base + "/data", "XDG_STATE_HOME": base + "/state",
        "PATH": base + "/bin:" + env["PATH"], "ANTHROPIC_API_KEY": "sk-ant-test", "IS_SANDBOX": "1",
        "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1", "DISABLE_AUTOUPDATER": "1"}
git = ["git", "-C", project, "-c", "user.name=b", "-c", "user.email=b@e.test"]
subprocess.run(git + ["init", "-q"], check=True, env=env)
for i in range(200):
    open("%s/f%d.txt" % (project, i), "w").write("line\n" * 50)
subprocess.run(git + ["add", "."], check=True, env=env)
subprocess.run(git + ["commit", "-qm", "one"], check=True, env=env)
api = subprocess.Popen(["node", source + "/tests/clients/messages-api.mjs", "0"], stdout=subprocess.PIPE, text=True, env=env)
port = api.stdout.readline().split()[1]
json.dump({"filesystem": {"allowRead": [base + "/bin", clients]}, "network": {"hosts": {"api.claude.test": ["127.0.0.1"]},
           "allowedDomains": ["api.claude.test"]}}, open(base + "/config/ccbox/policy.jsonc", "w"))
daemon = subprocess.Popen([build + "/cc_server", "--port", "0"], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True,
                          env=env | {"ANTHROPIC_BASE_URL": "http://api.claude.test:" + port})
daemon.stdout.readline(), daemon.stdout.readline()

WORDS = ["-p", "--input-format", "stream-json", "--output-format", "stream-json", "--verbose", "--include-partial-messages",
         "--permission-prompt-tool", "stdio"]
LINES = [{"type": "control_request", "request_id": "1", "request": {"subtype": "initialize", "hooks": {"PreToolUse": [
              {"matcher": "", "hookCallbackIds": ["b"], "timeout": 3600}]}}},
         {"type": "user", "message": {"role": "user", "content": [{"type": "text", "text": "hello"}]}, "parent_tool_use_id": None,
          "session_id": ""}]


def bare():
    """Seconds to its own first line about itself, which is also the first that a run records."""
    start = time.monotonic()
    agent = subprocess.Popen([base + "/bin/claude"] + WORDS, cwd=project, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                             stderr=subprocess.DEVNULL, env=env | {"ANTHROPIC_BASE_URL": "http://127.0.0.1:" + port})
    agent.stdin.write("".join(json.dumps(line) + "\n" for line in LINES).encode())
    agent.stdin.flush()
    for line in agent.stdout:
        if b'"subtype":"init"' in line:
            break
    took = time.monotonic() - start
    agent.kill()
    agent.wait()
    return took


class Local(http.client.HTTPConnection):
    def connect(self):
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.connect(base + "/data/ccbox-server/run/server.sock")


def call(method, path, body=None):
    connection = Local("ccbox")
    connection.request(method, path, json.dumps(body) if body is not None else None)
    return connection.getresponse()


def run(where):
    start = time.monotonic()
    answer = json.load(call("POST", "/v1/runs", {"agent": "claude", "prompt": "hello", **where}))
    events = call("GET", "/v1/runs/%s/events?format=lines" % answer["runId"])
    took = None
    for line in events:
        event = json.loads(line)
        if took is None and event.get("type") == "debug":
            took = time.monotonic() - start
    if took is None:
        sys.exit("the agent said nothing: " + line.decode())
    return took


WAYS = {"bare": bare, "in a directory": lambda: run({"directory": project}), "in a copy": lambda: run({"repo": project})}
times = {name: [] for name in WAYS}
try:
    for i in range(rounds + 1):
        for name, way in WAYS.items():
            took = way()
            if i:  # the first warms the page cache
                times[name].append(took)
finally:
    daemon.terminate()
    daemon.wait()
    api.kill()
    shutil.rmtree(base, ignore_errors=True)
plain, missed = statistics.median(times["bare"]), False
for name, list_ in times.items():
    median = statistics.median(list_)
    ratio = median / plain
    # making the copy has a bar of its own
    barred = name == "in a directory"
    missed |= barred and ratio > BAR
    print("%-16s %6.0f ms  %.3f x%s" % (name, median * 1000, ratio, "  (bar %.2f)%s" % (
        BAR, "  MISSED" if ratio > BAR else "") if barred else ""))
sys.exit(1 if missed else 0)
