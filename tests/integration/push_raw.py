"""A client of a push gateway that says what git would not say. usage: push_raw.py PORT SECRET CASE [FILE...] ; prints the answers,
as text. UPDATE OLD NEW in the environment: the one command that is well formed."""
import gzip
import os
import socket
import sys
import zlib

port, secret, case = int(sys.argv[1]), sys.argv[2], sys.argv[3]
REPO = '/up.test/o/r'
old, new = os.environ.get('OLD', '0' * 40), os.environ.get('NEW', '1' * 40)
ref = os.environ.get('REF', 'refs/heads/raw')
caps = 'report-status side-band-64k object-format=sha1 agent=raw'


def pkt(text):
    data = text if isinstance(text, bytes) else text.encode()
    return b'%04x' % (len(data) + 4) + data


def command(one_old=old, one_new=new, name=ref, words=caps):
    return pkt(one_old + ' ' + one_new + ' ' + name + ('\0 ' + words if words else ''))


def request(body, fields=(), method='POST', path=REPO + '/git-receive-pack', key=secret, length=None):
    lines = [method + ' ' + path + ' HTTP/1.1', 'Host: gateway.ccbox.internal', 'X-CC-Run: ' + key]
    if method == 'POST':
        lines.append('Content-Type: application/x-git-receive-pack-request')
        if not any(f.lower().startswith('transfer-encoding') for f in fields):
            lines.append('Content-Length: %d' % (len(body) if length is None else length))
    return ('\r\n'.join(lines + list(fields)) + '\r\n\r\n').encode() + body


pack = open(os.environ['PACK'], 'rb').read() if 'PACK' in os.environ else b''
good = command() + b'0000' + pack
ZIP = ('Content-Encoding: gzip',)
sized = pkt('x' * 100)
cases = {
    'probe': lambda: request(b'0000'),
    'good': lambda: request(good),
    'good-gzip': lambda: request(gzip.compress(good), ZIP),
    'good-chunked': lambda: request(b''.join(b'%x\r\n' % len(good[i:i + 7]) + good[i:i + 7] + b'\r\n' for i in range(0, len(good), 7)) +
                                    b'0\r\n\r\n', ('Transfer-Encoding: chunked',)),
    'good-continue': lambda: request(good, ('Expect: 100-continue',)),
    'two-requests': lambda: request(b'0000') + request(b'', method='GET', path=REPO + '/info/refs?service=git-receive-pack'),
    'smuggled': lambda: request(b'0000' + request(good)),
    'truncated': lambda: request(command()[:-5]),
    'short-body': lambda: request(command(), length=len(good) + 1000),
    'lying-length': lambda: request(b'00ff' + command()[4:] + b'0000' + pack),
    'length-3': lambda: request(b'0003' + good),
    'length-ffff': lambda: request(b'ffff' + b'a' * 65531 + b'0000'),
    'length-letters': lambda: request(b'00zz' + good),
    'delimiter': lambda: request(command() + b'0001' + pack),
    'two-flushes': lambda: request(command() + b'00000000' + pack),
    'commands-after-flush': lambda: request(command() + b'0000' + command(name='refs/heads/other', words='') + b'0000' + pack),
    'commands-after-pack': lambda: request(good + command(name='refs/heads/other', words='') + b'0000'),
    'zeros-after-pack': lambda: request(good + b'\0\0'),
    'much-after-pack': lambda: request(good + b'a' * 300000),
    'no-pack': lambda: request(command() + b'0000'),
    'not-gzip': lambda: request(good, ZIP),
    'gzip-cut': lambda: request(gzip.compress(good)[:-20], ZIP),
    'gzip-behind': lambda: request(gzip.compress(good) + b'more', ZIP),
    'gzip-bomb': lambda: request(gzip.compress(command() + b'0000' + b'\0' * (64 << 20)), ZIP),
    'gzip-bomb-commands': lambda: request(gzip.compress(b''.join(command(name='refs/heads/%070d' % i, words='' if i else caps)
                                                                  for i in range(200000))), ZIP),
    'deflate': lambda: request(zlib.compress(good), ('Content-Encoding: deflate',)),
    'too-many': lambda: request(b''.join(command(name='refs/heads/x%d' % i, words='' if i else caps) for i in range(5001)) + b'0000' + pack),
    'twice': lambda: request(command() + command(words='') + b'0000' + pack),
    'bad-name': lambda: request(command(name='refs/heads/a..b') + b'0000' + pack),
    'one-level': lambda: request(command(name='refs/stash') + b'0000' + pack),
    'cert-and-plain': lambda: request(pkt('push-cert\0' + caps + '\n') + pkt('certificate version 0.1\n') + pkt('\n') +
                                      pkt(old + ' ' + new + ' ' + ref + '\n') + pkt('-----BEGIN PGP SIGNATURE-----\n') +
                                      pkt('push-cert-end\n') + command(words='') + b'0000' + pack),
    'secret': lambda: request(b'', method='GET', path=REPO + '/info/refs?service=git-receive-pack', key='x' * len(secret)),
    'no-secret': lambda: request(b'', method='GET', path=REPO + '/info/refs?service=git-receive-pack', key=''),
    'other-repo': lambda: request(b'', method='GET', path='/up.test/o/other/info/refs?service=git-receive-pack'),
    'dots': lambda: request(b'', method='GET', path='/up.test/o/../o/r/info/refs?service=git-receive-pack'),
    'fetch': lambda: request(b'', method='GET', path=REPO + '/info/refs?service=git-upload-pack'),
    'upload-pack': lambda: request(b'0000', path=REPO + '/git-upload-pack'),
    'dumb': lambda: request(b'', method='GET', path=REPO + '/info/refs'),
    'object': lambda: request(b'', method='GET', path=REPO + '/objects/info/packs'),
    'lfs': lambda: request(b'{}', path=REPO + '/info/lfs/objects/batch'),
    'delete-method': lambda: request(b'', method='DELETE', path=REPO + '/git-receive-pack'),
    'type': lambda: request(good).replace(b'application/x-git-receive-pack-request', b'text/plain'),
    'two-lengths': lambda: request(good, ('Content-Length: 4',)),
    'rubbish': lambda: b'\x16\x03\x01\x00\xa5\x01\r\n\r\n',
}
client = socket.create_connection(('127.0.0.1', port))
client.settimeout(60)
try:
    client.sendall(cases[case]())
    if case in ('truncated', 'short-body'):
        client.shutdown(socket.SHUT_WR)
except OSError:
    pass
answers = b''
try:
    while True:
        piece = client.recv(65536)
        if not piece:
            break
        answers += piece
        if answers.count(b'HTTP/1.1') >= (2 if case in ('two-requests', 'good-continue') else 1) and \
                (answers.endswith(b'0\r\n\r\n') or (b'Content-Length' in answers and b'chunked' not in answers)):
            client.shutdown(socket.SHUT_WR)
except OSError as error:
    answers += b'\n' + str(error).encode()
print(''.join(chr(b) if 32 <= b < 127 or b == 10 else '.' for b in answers))
