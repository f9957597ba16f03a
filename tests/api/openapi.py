#!/usr/bin/env python3
"""The description of the API against the API: every route of the daemon's tables is described, and nothing else; every
operation is called, and every answer is what the description says, by its own schema. Speaks TAP.
usage: openapi.py DESCRIPTION SOURCE CC_SERVER"""
import http.client
import json
import os
import re
import socket
import subprocess
import sys
import tempfile
import time

try:
    import jsonschema
except ImportError:
    if sys.executable != "/usr/bin/python3" and os.path.exists("/usr/bin/python3"):
        os.execv("/usr/bin/python3", ["/usr/bin/python3", *sys.argv])
    print("1..1\nok 1 - the description # skip python3-jsonschema is not installed")
    sys.exit(0)

description = json.load(open(sys.argv[1]))
source, server = sys.argv[2], sys.argv[3]
rows = []


def row(good, label, why=""):
    rows.append(good)
    print(("ok" if good else "not ok"), len(rows), "-", label, flush=True)
    if not good and why:
        print("#", str(why)[:1500].replace("\n", "\n# "))


def schema(part):
    whole = dict(part)
    whole["components"] = description["components"]
    return jsonschema.Draft202012Validator(whole)


# The tables.
routes = set()
for name in ["server/" + n for n in sorted(os.listdir(source + "/src/server"))] + ["console/open.c", "console/login.c"]:
    if name.endswith(".c"):
        text = open(source + "/src/" + name).read()
        routes |= {(m.lower(), p) for m, p in re.findall(r'\{"(GET|POST|PUT|DELETE|PATCH)", "(/[^"]*)"', text)}
described = {(m, p) for p, item in description["paths"].items() for m in item if m != "parameters"}
row(routes - described == set(), "every route is described", routes - described)
row(described - routes == set(), "every description has its route", described - routes)
row(all(jsonschema.Draft202012Validator.check_schema({**s, "components": description["components"]}) is None
        for s in description["components"]["schemas"].values()), "the schemas are schemas")

base = tempfile.mkdtemp(prefix="ccbox-api.")
project = base + "/proj"
os.makedirs(project)
subprocess.run(["git", "init", "-q", project], check=True, env={**os.environ, "HOME": base})
# What calls itself an agent: it asks one question when it has its prompt, and then waits for its input.
os.makedirs(project + "/bin")
open(project + "/bin/claude-agent-acp", "w").write("""#!/usr/bin/python3
import json, sys
for line in sys.stdin:
    m = json.loads(line)
    say = lambda **k: print(json.dumps({"jsonrpc": "2.0", **k}), flush=True)
    if m.get("method") == "initialize":
        say(id=m["id"], result={"protocolVersion": 1})
    elif m.get("method") == "session/new":
        say(id=m["id"], result={"sessionId": "s"})
    elif m.get("method") == "session/prompt" and m["id"] == 3:
        say(id="q", method="session/request_permission", params={"toolCall": {"toolCallId": "t", "title": "T"}, "options": [
            {"optionId": "a", "kind": "allow_once"}, {"optionId": "r", "kind": "reject_once"}]})
""")
os.chmod(project + "/bin/claude-agent-acp", 0o755)
os.makedirs(base + "/ccbox")
json.dump({"filesystem": {"allowRead": [project + "/bin"]}}, open(base + "/ccbox/policy.jsonc", "w"))
env = {**os.environ, "PATH": project + "/bin:/usr/bin:/bin", "XDG_STATE_HOME": base + "/state", "HOME": base, "XDG_DATA_HOME": base + "/data", "XDG_CONFIG_HOME": base}
for gone in ("XDG_RUNTIME_DIR", "CC_SERVER_DATA_DIR", "CC_SERVER_SOCKET"):
    env.pop(gone, None)
daemon = subprocess.Popen([server, "--port", "0"], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, env=env, text=True)
port = int(daemon.stdout.readline().rsplit(":", 1)[1])
local = daemon.stdout.readline().split(" on ", 1)[1].strip()
token = open(base + "/data/ccbox-server/token").read().strip()
called = set()
told = []


def call(method, path, body=None, auth=True, raw=None, unix=False, head=None):
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
    if unix:
        connection.sock = socket.socket(socket.AF_UNIX)
        connection.sock.connect(local)
    headers = {"Authorization": "Bearer " + token} if auth else {}
    headers.update(head or {})
    data = raw if raw is not None else json.dumps(body).encode() if body is not None else None
    connection.request(method.upper(), path, data, headers)
    answer = connection.getresponse()
    told[:] = [answer.getheader("mcp-session-id")]
    return answer.status, answer.getheader("content-type", ""), answer.read()


def check(method, pattern, values=None, query="", body=None, want=None, auth=True, raw=None, valid=True, unix=False, head=None):
    """One call. valid: the body is one that the description allows."""
    path = pattern
    for name, value in (values or {}).items():
        path = path.replace("{%s}" % name, value)
    operation = description["paths"][pattern][method]
    label = "%s %s %s" % (method.upper(), pattern, want)
    request = operation.get("requestBody", {}).get("content", {}).get("application/json")
    if request and body is not None:
        agrees = schema(request["schema"]).is_valid(body) == valid
        if not agrees:
            return row(False, label, "the description %s this body: %s" % ("refuses" if valid else "allows", body))
    status, kind, text = call(method, path + query, body, auth, raw, unix, head)
    called.add((method, pattern, str(status)))
    if status != want:
        return row(False, label, (status, text))
    answer = operation["responses"].get(str(status))
    if not answer or kind not in answer["content"]:
        return row(False, label, "not described: %s %s" % (status, kind))
    if kind == "application/json":
        value = json.loads(text)
    elif kind.startswith("text/plain"):
        value = text.decode()
    elif kind == "text/event-stream":
        value = [json.loads(line[6:]) for line in text.decode().splitlines() if line.startswith("data: ")]
    else:
        value = [json.loads(line) for line in text.decode().splitlines()]
    errors = [e.message for e in schema(answer["content"][kind]["schema"]).iter_errors(value)]
    row(not errors, label, errors)
    return value


one = {"id": "one::x"}
spec = {"sessionId": "one::x", "workspaceId": "w", "agentId": "a", "bindMounts": [{"hostPath": project}], "mode": "chat",
        "limits": {"wallSeconds": 1000}, "egressAllowlist": [], "protectedPaths": [], "policy": {"network": {"enabled": False}}}
try:
    check("get", "/healthz", want=200, auth=False)
    check("get", "/v1/probe", want=200)
    for path in ("/v1/probe", "/v1/sandboxes", "/v1/repos", "/v1/workspaces"):
        check("get", path, want=401, auth=False)
    check("post", "/v1/sandboxes", body=spec, want=201)
    check("post", "/v1/sandboxes", body=spec, want=409)
    for bad in ({}, {"bindMounts": []}, {**spec, "x": 1}, {**spec, "mode": "root"}, {**spec, "limits": {"pids": 0}},
                {**spec, "networkEnabled": 1}, {**spec, "bindMounts": [{"hostPath": "rel"}]}, {**spec, "sessionId": ""}):
        check("post", "/v1/sandboxes", body=bad, want=400, valid=False)
    check("post", "/v1/sandboxes", body={"bindMounts": [{"hostPath": project + "/none"}]}, want=404)
    check("post", "/v1/sandboxes", body={"bindMounts": [{"hostPath": project}], "backend": "microvm"}, want=501)
    check("post", "/v1/sandboxes", raw=b"x" * (2 << 20), want=413)
    check("get", "/v1/sandboxes", want=200)
    check("get", "/v1/sandboxes", query="?all=1", want=200)
    check("get", "/v1/sandboxes/{id}", one, want=200)
    check("get", "/v1/sandboxes/{id}", {"id": "nobody"}, want=404)
    script = "echo out; echo err >&2; printf '\\377'; echo x >.env; exit 3"
    check("post", "/v1/sandboxes/{id}/exec", one, body={"argv": ["sh", "-c", script], "env": {"A": "b"}, "timeoutSeconds": 30,
                                                       "workdir": project, "stdin": "x"}, want=200)
    for bad in ({}, {"argv": []}, {"argv": "ls"}, {"argv": ["ls"], "env": {"A": 1}}, {"argv": ["ls"], "shell": True}):
        check("post", "/v1/sandboxes/{id}/exec", one, body=bad, want=400, valid=False)
    check("post", "/v1/sandboxes/{id}/exec", {"id": "nobody"}, body={"argv": ["true"]}, want=404)
    started = check("post", "/v1/sandboxes/{id}/exec", one, body={"argv": ["cat"], "stdinOpen": True, "detach": True}, want=202)
    running = {**one, "command": str(started["command"])}
    check("post", "/v1/sandboxes/{id}/exec/{command}/stdin", running, raw=b"bytes", want=200)
    check("post", "/v1/sandboxes/{id}/exec/{command}/signal/{name}", {**running, "name": "USR9"}, want=400)
    check("post", "/v1/sandboxes/{id}/exec/{command}/signal/{name}", {**running, "name": "CONT"}, want=200)
    check("post", "/v1/sandboxes/{id}/exec/{command}/stdin", running, query="?last=1", raw=b"", want=200)
    check("post", "/v1/sandboxes/{id}/exec/{command}/signal/{name}", {**one, "command": "999", "name": "TERM"}, want=404)
    check("get", "/v1/sandboxes/{id}/events", one, query="?follow=0", want=200)
    check("get", "/v1/sandboxes/{id}/events", one, query="?follow=0&format=lines&since=2", want=200)
    check("get", "/v1/sandboxes/{id}/events", {"id": "nobody"}, want=404)
    check("post", "/v1/sandboxes/{id}/resume", one, want=409)
    check("post", "/v1/sandboxes/{id}/suspend", one, want=200)
    check("post", "/v1/sandboxes/{id}/exec", one, body={"argv": ["true"]}, want=409)
    check("post", "/v1/sandboxes/{id}/resume", one, want=200)
    check("delete", "/v1/sandboxes/{id}", one, want=200)
    check("delete", "/v1/sandboxes/{id}", one, want=404)
    check("get", "/v1/sandboxes/{id}", one, want=200)
    check("get", "/v1/sandboxes/{id}/events", one, want=200)
    check("post", "/v1/workspaces", body={"workspaceId": "w", "name": "W"}, want=200)
    check("post", "/v1/workspaces", body={"name": "W"}, want=400, valid=False)
    added = check("post", "/v1/repos", body={"workspaceId": "w", "path": project}, want=201)
    check("post", "/v1/repos", body={"path": "rel"}, want=400, valid=False)
    check("post", "/v1/repos", body={"path": base + "/none"}, want=404)
    check("get", "/v1/repos", query="?workspace=w", want=200)
    check("get", "/v1/workspaces", want=200)
    check("delete", "/v1/repos/{id}", {"id": str(added["id"])}, want=200)
    check("delete", "/v1/repos/{id}", {"id": str(added["id"])}, want=404)
    check("delete", "/v1/workspaces/{id}", {"id": "w"}, want=200)
    check("delete", "/v1/workspaces/{id}", {"id": "w"}, want=404)
    check("get", "/v1/terminals", want=200)
    term = check("post", "/v1/terminals", body={"rows": 30, "cols": 100, "cwd": project, "shell": "/bin/sh", "backend": "native",
                                                "idleSeconds": 60}, want=201)
    for bad in ({"rows": 0}, {"cols": "80"}, {"backend": "docker"}, {"shell": "sh"}, {"cwd": "here"}, {"x": 1}):
        check("post", "/v1/terminals", body=bad, want=400, valid=False)
    check("post", "/v1/terminals", body={"cwd": base + "/none"}, want=404)
    check("post", "/v1/terminals", body={"backend": "microvm"}, want=501)
    check("post", "/v1/terminals", raw=b"x" * 20000, want=413)
    check("get", "/v1/terminals", want=200)
    check("get", "/v1/terminals", want=401, auth=False)
    check("get", "/v1/terminals/{id}", {"id": term["id"]}, want=200)
    check("delete", "/v1/terminals/{id}", {"id": term["id"]}, want=202)
    check("get", "/v1/terminals/{id}", {"id": term["id"]}, want=200)
    check("get", "/v1/terminals/{id}", {"id": "nobody"}, want=404)
    check("delete", "/v1/terminals/{id}", {"id": "nobody"}, want=404)
    # An agent that speaks no protocol at all stands in for one: what is looked at is the API.
    wish = {"agent": "codex", "prompt": "token=abc", "directory": project, "mode": "chat", "workspaceId": "w", "backend": "native",
            "actions": {"networkEgress": "deny"}, "env": ["LANG"], "silenceSeconds": 60, "approvalSeconds": 60}
    for bad in ({}, {**wish, "agent": "nobody"}, {**wish, "repo": "/x"}, {"agent": "codex", "prompt": "x"}, {**wish, "directory": "x"},
                {**wish, "mode": "root"}, {**wish, "x": 1}, {**wish, "env": ["A=b"]}, {**wish, "actions": {"gitPush": "maybe"}},
                {**wish, "prompt": ""}, {**wish, "silenceSeconds": 0}):
        check("post", "/v1/runs", body=bad, want=400, valid=False)
    check("post", "/v1/runs", body={"agent": "codex", "prompt": "x", "repo": "99"}, want=404)
    check("post", "/v1/runs", raw=b"x" * (1 << 20), want=413)
    ran = check("post", "/v1/runs", body=wish, want=201)
    of = {"id": ran["runId"]}
    check("get", "/v1/runs/{id}/events", of, want=200)
    check("get", "/v1/runs/{id}/events", of, query="?format=lines&since=1", want=200)
    row(check("get", "/v1/runs/{id}", of, want=200)["exitCode"] == 127, "an agent that is not there is 127")
    check("get", "/v1/runs", want=200)
    for path in ("steer", "stop"):
        check("post", "/v1/runs/{id}/" + path, of, body={"text": "x"} if path == "steer" else None, want=404)
    check("get", "/v1/runs/{id}", {"id": "r-0"}, want=404)
    check("get", "/v1/runs/{id}/events", {"id": "..%2f..%2ftoken"}, want=404)
    check("post", "/v1/runs/{id}/approvals/{number}", {**of, "number": "1"}, body={"decision": "allow"}, want=404)
    # One that waits for its input goes on until it is told to end.
    ran = check("post", "/v1/runs", body={**wish, "agent": "claude-acp"}, want=201)
    of = {"id": ran["runId"]}
    while not (now := check("get", "/v1/runs/{id}", of, want=200)).get("questions") and now["state"] != "ended":
        time.sleep(0.05)
    check("post", "/v1/runs/{id}/approvals/{number}", {**of, "number": "1"}, body={"decision": "allow"}, want=200)
    check("post", "/v1/runs/{id}/steer", of, body={"text": "more"}, want=200)
    for bad in ({}, {"text": 1}, {"text": ""}, {"text": "x", "y": 1}):
        check("post", "/v1/runs/{id}/steer", of, body=bad, want=400, valid=False)
    check("post", "/v1/runs/{id}/approvals/{number}", {**of, "number": "7"}, body={"decision": "deny"}, want=404)
    check("post", "/v1/runs/{id}/approvals/{number}", {**of, "number": "7"}, body={"decision": "maybe"}, want=400, valid=False)
    check("post", "/v1/runs/{id}/stop", of, want=200)
    check("get", "/v1/runs/{id}/events", of, want=200)
    row(check("get", "/v1/runs/{id}", of, want=200)["reason"] == "stopped", "a run that was stopped says so")
    # A change in a copy.
    subprocess.run(["git", "-C", project, "-c", "user.name=t", "-c", "user.email=t@e.test", "commit", "-q", "--allow-empty", "-m", "one"],
                   check=True, env=env)
    open(project + "/bin/codex", "w").write("#!/bin/sh\necho new >new.txt\n")
    os.chmod(project + "/bin/codex", 0o755)
    ran = check("post", "/v1/runs", body={"agent": "codex", "prompt": "x", "repo": project, "env": []}, want=201)
    of = {"id": ran["runId"]}
    check("get", "/v1/runs/{id}/events", of, want=200)
    row("new.txt" in check("get", "/v1/runs/{id}/diff", of, want=200)["diff"], "the diff has the change", check("get", "/v1/runs/{id}", of, want=200))
    check("get", "/v1/runs/{id}/diff", {"id": "r-0"}, want=404)
    hello = {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {"protocolVersion": "2025-06-18", "capabilities": {}}}
    check("post", "/v1/mcp", body=hello, want=400)
    check("post", "/v1/mcp", query="?directory=" + project, body={"id": 1}, want=400, valid=False)
    check("post", "/v1/mcp", query="?directory=" + base + "/none", body=hello, want=404)
    check("post", "/v1/mcp", query="?directory=" + project, body=hello, want=401, auth=False)
    check("post", "/v1/mcp", raw=b"x" * (2 << 20), want=413)
    check("post", "/v1/mcp", query="?directory=" + project, body=hello, want=200)
    mine = {"Mcp-Session-Id": told[0]}
    row(len(told[0] or "") == 32, "a session of tools has its id", told)
    check("post", "/v1/mcp", body={"jsonrpc": "2.0", "method": "notifications/initialized"}, want=202, head=mine)
    check("post", "/v1/mcp", body={"jsonrpc": "2.0", "id": "a", "method": "tools/list"}, want=200, head=mine)
    check("post", "/v1/mcp", body={"jsonrpc": "2.0", "id": 2.5, "method": "no/such"}, want=200, head=mine)
    check("delete", "/v1/mcp", want=204, head=mine)
    check("delete", "/v1/mcp", want=404, head=mine)
    check("post", "/v1/console/login", want=403)
    login = check("post", "/v1/console/login", want=201, unix=True)
    key = login["url"].split("/console/login", 1)[1]
    check("get", "/console/login", query=key, want=303, auth=False)
    check("get", "/console/login", query=key, want=403, auth=False)
    check("post", "/v1/console/logout", want=204)
    check("post", "/v1/console/logout", want=401, auth=False)
    good = {(m, p, s) for m, p in routes & described for s in description["paths"][p][m]["responses"] if s[0] in "23"}
    row(good - called == set(), "every good answer that is described was seen", good - called)
finally:
    daemon.terminate()
    row(daemon.wait(60) == 0, "the daemon ends well")
    subprocess.run(["rm", "-rf", base])
print("1..%d" % len(rows))
sys.exit(0 if all(rows) else 1)
