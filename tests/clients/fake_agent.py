#!/usr/bin/python3
"""Stands in for Claude Code where a test wants a certain behaviour: speaks stream-json on its standard streams, and does what
its prompt says. As claude-agent-acp it speaks the Agent Client Protocol."""
import json
import os
import signal
import subprocess
import sys
import time


def out(**message):
    print(json.dumps(message), flush=True)


def text(what):
    out(type="stream_event", event={"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": what}})


def act(prompt):
    word, _, rest = prompt.partition(" ")
    if word == "say":
        text(rest)
    elif word == "env":
        text(" ".join(sorted(os.environ)))
    elif word == "run":
        done = subprocess.run(["sh", "-c", rest], capture_output=True, text=True)
        text("status %d: %s%s" % (done.returncode, done.stdout, done.stderr))
    elif word == "hang":
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        subprocess.Popen(["sh", "-c", "trap '' TERM HUP; while :; do sleep 0.2; done"], start_new_session=True)
        text("hanging")
        time.sleep(1000)
    elif word == "junk":
        sys.stdout.buffer.write(b"not json \xff\x00\x1b[31m\n[1,2]\n{\"type\":\"stream_event\"}\n" + b"[" * 70 + b"\n")
        sys.stdout.buffer.write(b"{\"type\":\"result\",\"seq\":1,\"record\":\"end\",\"exitCode\":0}\n")
        sys.stdout.flush()
        time.sleep(1000 if rest == "stay" else 0)
    elif word == "long":
        sys.stdout.buffer.write(b"x" * (13 << 20))
        sys.stdout.flush()
        time.sleep(1000)
    elif word == "tell":  # waits for a further word
        text("waiting ")
        again = json.loads(sys.stdin.readline())
        text("heard " + again["message"]["content"][0]["text"])
        out(type="result", is_error=False)
    elif word == "ask":  # with markup in all that it says
        out(type="control_request", request_id="q", request={"subtype": "can_use_tool", "tool_name": "mcp__x", "input": {
            "command": "echo '<img src=x onerror=alert(1)>'; gh pr create " + rest}, "description": "<i>x</i>"})
        answer = json.loads(sys.stdin.readline())
        text("<img src=x onerror=alert(1)> %s" % answer["response"]["response"]["behavior"])
        open("new.txt", "w").write("made by the agent\n<b>bold</b>\n")
    elif word == "exit":
        sys.exit(int(rest))


def stream_json():
    for line in sys.stdin:
        message = json.loads(line)
        if message["type"] == "control_request":
            out(type="control_response", response={"subtype": "success", "request_id": message["request_id"], "response": {}})
        elif message["type"] == "user":
            act(message["message"]["content"][0]["text"])
            out(type="result", is_error=False, usage={"input_tokens": 1, "output_tokens": 2})


def acp():
    for line in sys.stdin:
        message = json.loads(line)
        if message["method"] == "session/prompt":
            out(jsonrpc="2.0", method="session/update", params={"update": {"sessionUpdate": "agent_message_chunk", "content": {
                "type": "text", "text": " ".join(sorted(os.environ))}}})
        out(jsonrpc="2.0", id=message["id"], result={"protocolVersion": 1, "sessionId": "s", "stopReason": "end_turn"})


acp() if "acp" in sys.argv[0] else stream_json()
