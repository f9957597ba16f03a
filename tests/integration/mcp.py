"""A client of `ccbox mcp` for tests: one call a line of standard input, as NAME {ARGUMENTS}; prints isError and the text.

usage: mcp.py COMMAND...   the server's command. Lines: `call NAME JSON`, `raw JSON`, `ask yes|no` (how questions are answered)
"""
import json
import subprocess
import sys

server = subprocess.Popen(sys.argv[1:], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
count = 0
answer = None


def send(message):
    server.stdin.write(json.dumps(message) + '\n')
    server.stdin.flush()


def request(method, params):
    global count
    count += 1
    send({'jsonrpc': '2.0', 'id': count, 'method': method, 'params': params})
    while True:
        line = server.stdout.readline()
        if not line:
            sys.exit(server.wait() or 1)
        message = json.loads(line)
        if message.get('method') == 'elicitation/create':
            print('question:', message['params']['message'].replace('\n', ' | '))
            send({'jsonrpc': '2.0', 'id': message['id'], 'result': {'action': 'accept' if answer == 'yes' else 'decline', 'content': {'allow': answer == 'yes'}}})
            continue
        assert message['id'] == count, message
        return message


for line in sys.stdin:
    word, _, rest = line.strip().partition(' ')
    if word == 'ask':
        answer = rest
        continue
    if count == 0:
        first = request('initialize', {'protocolVersion': '2025-11-25', 'capabilities': {'elicitation': {}} if answer else {}, 'clientInfo': {'name': 't', 'version': '1'}})
        assert first['result']['protocolVersion'] == '2025-11-25', first
        send({'jsonrpc': '2.0', 'method': 'notifications/initialized'})
    if word == 'call':
        name, _, args = rest.partition(' ')
        result = request('tools/call', {'name': name, 'arguments': json.loads(args)})['result']
        print('error' if result['isError'] else 'ok', result['content'][0]['text'], end='')
    elif word == 'list':
        print(' '.join(tool['name'] for tool in request('tools/list', {})['result']['tools']))
    sys.stdout.flush()
server.stdin.close()
sys.exit(server.wait())
