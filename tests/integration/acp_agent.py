"""An agent for tests of `ccbox acp`: each prompt's text is a list of requests that it makes of its client; it says what came back.
Words that are no requests: {"print": TEXT} writes raw bytes, {"write": PATH} tries to make a file itself."""
import json
import sys

inp, out = sys.stdin.buffer, sys.stdout.buffer
count = 0


def send(message):
    out.write(json.dumps(dict(message, jsonrpc='2.0')).encode() + b'\n')
    out.flush()


def request(method, params):
    global count
    count += 1
    send({'id': count, 'method': method, 'params': params})
    while True:
        message = json.loads(inp.readline())
        if 'method' not in message and message['id'] == count:
            return message.get('result', message.get('error'))


def perform(step):
    if 'print' in step:
        out.write(step['print'].encode('latin-1') + b'\n')
        out.flush()
        return 'printed'
    if 'write' in step:
        try:
            open(step['write'], 'w').close()
            return 'written'
        except OSError as error:
            return error.strerror
    params = dict(step['params'], sessionId='s-1')
    if params.get('terminalId') == '$':
        params['terminalId'] = perform.terminal
    result = request(step['method'], params)
    perform.terminal = (result or {}).get('terminalId', getattr(perform, 'terminal', None))
    return result


for line in inp:
    message = json.loads(line)
    if message.get('method') == 'initialize':
        send({'id': message['id'], 'result': {'protocolVersion': 1, 'seen': message['params']}})
    elif message.get('method') == 'session/new':
        send({'id': message['id'], 'result': {'sessionId': 's-1'}})
    elif message.get('method') == 'session/prompt':
        for step in json.loads(message['params']['prompt'][0]['text']):
            said = perform(step)
            send({'method': 'session/update', 'params': {'sessionId': 's-1', 'update': {'sessionUpdate': 'agent_message_chunk', 'content': {'type': 'text', 'text': json.dumps(said)}}}})
        send({'id': message['id'], 'result': {'stopReason': 'end_turn'}})
    elif 'id' in message and 'method' in message:
        send({'id': message['id'], 'error': {'code': -32601, 'message': 'agent: no such method'}})
