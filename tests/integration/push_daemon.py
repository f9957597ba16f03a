"""What stands around a push gateway in its tests: the daemon (messages, questions), connections from inside (a listener on
loopback, whose connections are passed on), and an upstream (git http-backend over a directory).
usage: push_daemon.py CC_PUSH START.json UPSTREAM LOG [ANSWER [HOSTILE]]
ANSWER: allow, deny, none. HOSTILE: what the upstream does wrong. The port is the first line; a second is the gateway's pid. LOG
has a line a message. Ends at SIGTERM, after the gateway."""
import json
import os
import signal
import socket
import subprocess
import sys
import threading

cc_push, start, upstream, log_path = sys.argv[1:5]
answer = sys.argv[5] if len(sys.argv) > 5 else 'allow'
hostile = sys.argv[6] if len(sys.argv) > 6 else ''
log_file = open(log_path, 'a', buffering=1)
ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
env = {k: v for k, v in os.environ.items() if not k.startswith('GIT_')}
gateway = subprocess.Popen([cc_push, str(theirs.fileno()), '1024'], pass_fds=[theirs.fileno()], env=env)
theirs.close()


def send(message, fds=()):
    socket.send_fds(ours, [json.dumps(message).encode()], list(fds))


def log(kind, message):
    log_file.write(kind + ' ' + json.dumps(message, sort_keys=True) + '\n')


def backend(message, body):
    path = '/' + message['repo']
    receive = message['service'] == 'receive'
    cgi = dict(env, GIT_PROJECT_ROOT=upstream, GIT_HTTP_EXPORT_ALL='1', REMOTE_USER='server', GIT_CONFIG_NOSYSTEM='1',
               REQUEST_METHOD='POST' if receive else 'GET', PATH_INFO=path + ('/git-receive-pack' if receive else '/info/refs'),
               QUERY_STRING='' if receive else 'service=git-receive-pack', GIT_PROTOCOL=message.get('protocol', ''))
    if receive:
        cgi.update(CONTENT_TYPE='application/x-git-receive-pack-request', CONTENT_LENGTH=str(os.fstat(body).st_size))
    return subprocess.Popen(['git', 'http-backend'], env=cgi, stdin=body if receive else subprocess.DEVNULL, stdout=subprocess.PIPE)


def misbehave(message, out):
    """True: it was answered, wrongly."""
    kind = {'advertise': 'application/x-git-receive-pack-advertisement', 'receive': 'application/x-git-receive-pack-result'}
    done = {'m': 'done', 'id': message['id'], 'status': 200, 'contentType': kind[message['service']]}
    if hostile == 'fails' and message['service'] == 'receive':
        send({'m': 'failed', 'id': message['id'], 'code': 'unreachable', 'text': 'the host cannot be reached'})
    elif hostile == 'redirect':
        send(dict(done, status=302, contentType='text/html'))
    elif hostile == 'refuses' and message['service'] == 'receive':
        send(dict(done, status=403, contentType='text/plain'))
    elif hostile == 'junk' and message['service'] == 'advertise':
        send(done)
        os.write(out, b'<html>this is no list</html>')
    elif hostile == 'cut' and message['service'] == 'receive':
        send(done)
        os.write(out, b'0030\x01000eunpack ok\n')
    else:
        return False
    return True


def forward(message, fds):
    out = fds[-1]
    if not misbehave(message, out):
        process = backend(message, fds[0])
        head = {}
        for line in iter(process.stdout.readline, b''):
            if line in (b'\r\n', b'\n'):
                break
            name, _, value = line.decode().partition(':')
            head[name.lower()] = value.strip()
        send({'m': 'done', 'id': message['id'], 'status': int(head.get('status', '200').split()[0]),
              'contentType': head.get('content-type', '')})
        while True:
            piece = process.stdout.read1(65536)
            if not piece:
                break
            try:
                sent = 0
                while sent < len(piece):
                    sent += os.write(out, piece[sent:])
            except OSError:
                break
        process.wait()
    for fd in fds:
        os.close(fd)


def hear():
    while True:
        text, fds, _, _ = socket.recv_fds(ours, 65536, 8)
        if not text:
            os._exit(0)
        message = json.loads(text)
        log(message['m'], message)
        if message['m'] == 'forward':
            threading.Thread(target=forward, args=(message, fds), daemon=True).start()
        elif message['m'] == 'ask' and answer != 'none':
            send({'m': 'answer', 'id': message['id'], 'allow': answer == 'allow', 'by': 'person'})


def stop(*_):
    send({'m': 'stop'})
    gateway.wait(60)
    os._exit(0)


signal.signal(signal.SIGTERM, stop)
document = os.memfd_create('start')
os.write(document, open(start, 'rb').read())
os.lseek(document, 0, os.SEEK_SET)
send({'m': 'start'}, [document])
os.close(document)
listener = socket.create_server(('127.0.0.1', 0), backlog=64)
print(listener.getsockname()[1], gateway.pid, sep='\n', flush=True)
threading.Thread(target=hear, daemon=True).start()
while True:
    connection, _ = listener.accept()
    try:
        send({'m': 'conn'}, [connection.fileno()])
    except OSError:
        break
    connection.close()
