"""An editor for tests of `ccbox acp`. usage: acp.py COMMAND... ; each line of standard input is the text of a prompt. Prints what
the agent said, `thought: ...`, and `permission: TITLE`, which it answers as CC_TEST_ANSWER (allow, reject) says."""
import json
import os
import subprocess
import sys
import time

agent = subprocess.Popen(sys.argv[1:], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
count = 0


def send(message):
    agent.stdin.write(json.dumps(dict(message, jsonrpc='2.0')).encode() + b'\n')
    agent.stdin.flush()


def take(message):
    update = message.get('params', {}).get('update', {})
    if update.get('sessionUpdate') in ('agent_message_chunk', 'agent_thought_chunk'):
        print(('thought: ' if update['sessionUpdate'] == 'agent_thought_chunk' else '') + update['content']['text'].rstrip('\n'), flush=True)
    elif message.get('method') == 'session/request_permission':
        print('permission:', message['params']['toolCall']['title'], flush=True)
        wanted = os.environ.get('CC_TEST_ANSWER', 'reject')
        option = next(o['optionId'] for o in message['params']['options'] if o['kind'] == wanted + '_once')
        outcome = {'outcome': 'selected', 'optionId': option}
        send({'id': message['id'], 'result': {'outcome': outcome}})
    elif 'method' in message and 'id' in message:
        send({'id': message['id'], 'error': {'code': -32601, 'message': 'editor: no ' + message['method']}})


def request(method, params):
    global count
    count += 1
    send({'id': count, 'method': method, 'params': params})
    while True:
        line = agent.stdout.readline()
        if not line:
            sys.exit(agent.wait())
        message = json.loads(line)
        if 'method' not in message and message['id'] == count:
            return message.get('result', message.get('error'))
        take(message)


first = request('initialize', {'protocolVersion': 1, 'clientCapabilities': {'fs': {'readTextFile': False, 'writeTextFile': False}, 'terminal': False, 'other': 1}, 'clientInfo': {'name': 't', 'version': '1'}})
print('initialize:', json.dumps(first['seen']['clientCapabilities'], sort_keys=True) if 'seen' in first else first, flush=True)
session = request('session/new', {'cwd': os.getcwd(), 'mcpServers': []})['sessionId']
for line in sys.stdin:
    print('prompt:', json.dumps(request('session/prompt', {'sessionId': session, 'prompt': [{'type': 'text', 'text': line}]})), flush=True)
    if 'linger' in os.environ.get('CC_TEST_ANSWER', ''):
        time.sleep(600)
deadline = time.time() + 0.5 # a refusal is told a moment later than its answer
os.set_blocking(agent.stdout.fileno(), False)
rest = b''
while time.time() < deadline:
    rest += agent.stdout.read() or b''
    time.sleep(0.05)
for line in rest.splitlines():
    take(json.loads(line))
agent.stdin.close()
sys.exit(agent.wait())
