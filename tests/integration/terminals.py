"""Terminals over the API: terminals.py CASE, with SOCK, PORT, TOKEN and HOME in the environment. Prints "fine"."""
import http.client, json, os, socket, struct, subprocess, sys, time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from ws import Refused, Term, Ws

SOCK, PORT, TOKEN = os.environ['SOCK'], int(os.environ['PORT']), os.environ['TOKEN']
BEARER = [f'Authorization: Bearer {TOKEN}']


class Local(http.client.HTTPConnection):
    def connect(self):
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.settimeout(60)
        self.sock.connect(SOCK)


def api(method, path, body=None):
    c = Local('ccbox')
    c.request(method, path, body if body is None or isinstance(body, str) else json.dumps(body))
    r = c.getresponse()
    data = r.read()
    c.close()
    return r.status, json.loads(data) if data else None


def start(**body):
    body.setdefault('shell', '/bin/bash')
    status, t = api('POST', '/v1/terminals', body)
    assert status == 201, (status, t)
    return t


def view(t, query='', **how):
    how = how or {'sock': SOCK}
    return Term(t['id'], query, **how)


def count(word):
    """Processes whose last argument is word."""
    n = 0
    for pid in filter(str.isdigit, os.listdir('/proc')):
        try:
            n += open(f'/proc/{pid}/cmdline', 'rb').read().endswith(b'\0' + word.encode() + b'\0')
        except OSError:
            pass
    return n


def gone(word):
    for _ in range(200):
        if not count(word):
            return True
        time.sleep(0.05)
    return False


def case_life():
    t = start(rows=30, cols=100, cwd=os.environ['HOME'])
    assert t['backend'] == 'none' and t['state'] == 'running' and t['cwd'] == os.path.realpath(os.environ['HOME']), t
    assert t['badge'] == {'backend': 'none', 'label': 'No isolation', 'enclosed': False}, t
    v = view(t)
    assert v.hello['backend'] == 'none' and v.hello['badge'] == t['badge'], v.hello
    v.type('echo $((6*7))x; stty size\r')
    assert v.see('42x') and v.see('30 100')
    v.type('PS1="$ "; printf "\\033]2;my build\\007"\r')
    v.told(type='status', title='my build')
    v.tell(type='resize', rows=33, cols=99)
    v.told(type='status', rows=33, cols=99)
    v.type('stty size\r')
    assert v.see('33 99')
    listed = api('GET', '/v1/terminals')[1]['terminals']
    assert [x['title'] for x in listed if x['id'] == t['id']] == ['my build'], listed
    v.type('sleep 3141 & exit 3\r')
    assert v.end()[0] == 1000 and v.exit['exitCode'] == 3 and gone('3141'), (v.closed, v.exit)
    status, info = api('GET', '/v1/terminals/' + t['id'])
    assert status == 200 and info['state'] == 'ended' and info['exitCode'] == 3, info
    late = view(t)  # its end can still be read
    assert late.end()[0] == 1000 and late.exit['exitCode'] == 3 and b'42x' in late.out


def case_replay():
    t = start()
    v = view(t)
    v.type('for i in 1 2 3; do echo line-$((i*1111)); done\r')
    assert v.see('line-3333')
    v.ws.close()  # without a goodbye
    w = view(t)
    assert w.first == 0 and w.see('line-3333') and w.out[:len(v.out)] == v.out
    middle = v.out.index(b'line-3333') + 5
    x = view(t, f'?from={middle}')
    assert x.first == middle and x.see('3333')
    assert x.out[:4] == b'3333'
    y = view(t, '?from=999999999')
    assert y.first == y.hello['end']
    # two viewers see the same; typing in one is seen by the other
    w.type('echo bo$((1+1))th\r')
    assert w.see('bo2th') and x.see('bo2th')
    # more than is kept: what is left starts later, and says where
    w.type('seq 1 120000; echo do$((1+1))ne\r')
    assert w.see('do2ne')
    z = view(t, '?from=10')
    assert z.first > z.hello['oldest'] and z.see('do2ne')
    api('DELETE', '/v1/terminals/' + t['id'])
    assert w.end() == (4000, 'the terminal was closed') and z.end()[0] == 4000


def case_flow():
    t = start()
    v = view(t, '?window=65536')
    v.type('yes 2718\r')
    total = 0
    while total < 65536:
        v.step()
        total = v.at
    # acknowledged nothing: no more than the window comes, and the program is stopped by its own terminal
    assert v.at == 65536 and v.quiet(1.0)
    seen = [api('GET', '/v1/terminals/' + t['id'])[1]['seq']]
    for _ in range(5):
        time.sleep(0.1)
        seen.append(api('GET', '/v1/terminals/' + t['id'])[1]['seq'])
    assert seen[-1] == seen[-2] == seen[-3] and seen[-1] <= 1 << 18, seen
    v.tell(type='ack', seq=v.at)
    while v.at < 2 * 65536:
        v.step()
    assert v.at == 2 * 65536
    v.type('\x03')
    done = False
    v.type('echo af$((1+1))ter\r')
    while not done:
        v.tell(type='ack', seq=v.at)
        v.step()
        done = b'af2ter' in v.out
    # a connection that reads nothing at all: the other one is not held back
    t2 = start()
    stopped, fast = view(t2), view(t2)
    stopped.ws.s.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
    fast.type('seq 1 2000000; echo en$((1+1))d\r')
    assert fast.see('en2d')
    assert stopped.end()[0] == 4002, stopped.closed
    # typed faster than it is taken: bounded, and all of it arrives
    t3 = start()
    v3 = view(t3)
    v3.type('stty -echo -icanon; sleep 2; head -c 300000 | wc -c | sed "s/^/got-/"; stty echo icanon\r')
    time.sleep(0.5)
    for _ in range(30):
        v3.type('z' * 10000)
    assert v3.see('got-300000')


def case_backends():
    status, e = api('POST', '/v1/terminals', {'backend': 'firejail'})
    assert status == 400 and 'microvm, native or none' in e['error']['message'], e
    status, e = api('POST', '/v1/terminals', {'backend': 'docker'})
    assert status == 400, e
    status, e = api('POST', '/v1/terminals', {'backend': 'microvm'})
    assert status >= 400 and 'microvm' in e['error']['message'] and 'no other backend' in e['error']['message'], e
    assert api('GET', '/v1/terminals')[1]['terminals'] == []
    t = start(backend='native')
    assert t['backend'] == 'native' and t['badge']['label'] == 'Native sandbox' and not t['badge']['enclosed'], t
    os.makedirs(os.environ['HOME'] + '/.ssh', exist_ok=True)
    open(os.environ['HOME'] + '/.ssh/id', 'w').write('PRIV' + 'ATE\n')
    v = view(t)
    v.type('cat ~/.ssh/id\r')
    assert v.see('Permission denied') and b'PRIVATE' not in v.out
    event = v.told(type='event')['event']
    assert event['type'] == 'violation' and event['violation']['target'].endswith('/.ssh/id'), event
    v.type('cat %s/token\r' % os.path.dirname(os.path.dirname(SOCK)))
    assert v.see('token: ') and TOKEN.encode() not in v.out
    v.type('exit\r')
    assert v.end()[0] == 1000


def case_refused():
    """native cannot be held on this host: an error, no terminal, no badge."""
    status, e = api('POST', '/v1/terminals', {'backend': 'native'})
    assert status >= 400 and 'badge' not in e and 'nothing was started' in e['error']['message'], e
    assert api('GET', '/v1/terminals')[1]['terminals'] == []
    assert start()['backend'] == 'none'


def case_input():
    for body in ['', '[]', '{', '{"rows":0}', '{"rows":"24"}', '{"rows":24,"rows":25}', '{"bogus":1}', '{"cwd":7}',
                 '{"cols":99999}', '{"cwd":"relative"}', '{"shell":"bash"}', 'null']:
        status, e = api('POST', '/v1/terminals', body)
        assert 400 <= status < 500 and e['error']['message'], (body, status, e)
    assert api('POST', '/v1/terminals', {'cwd': '/no/such/place'})[0] == 404
    status, e = api('POST', '/v1/terminals', {'shell': '/no/such/shell'})
    assert status == 404 and '/no/such/shell' in e['error']['message'], e
    c = Local('ccbox')  # refused by its length, unread
    c.putrequest('POST', '/v1/terminals')
    c.putheader('Content-Length', '20000')
    c.endheaders()
    assert c.getresponse().status == 413
    for method, path in [('GET', '/v1/terminals/nobody'), ('DELETE', '/v1/terminals/nobody'),
                         ('GET', '/v1/terminals/no%2fbody'), ('DELETE', '/v1/terminals/' + 'x' * 200)]:
        assert api(method, path)[0] == 404, path
    assert api('GET', '/v1/terminals')[1]['terminals'] == []


def case_frames():
    t = start()
    typed = struct.pack('>Q', 0) + b'a'
    rows = [
        ('replayed', [(2, typed), (2, typed)], 4409),
        ('reordered', [(2, struct.pack('>Q', 5) + b'a')], 4409),
        ('too short', [(2, b'abc')], 4400),
        ('empty', [(2, b'')], 4400),
        ('too long', [(2, struct.pack('>Q', 0) + b'x' * 65537)], 1009),
        ('text too long', [(1, b'x' * 5000)], 1009),
        ('no JSON', [(1, b'hello')], 4400),
        ('unknown', [(1, b'{"type":"exec","argv":["id"]}')], 4400),
        ('a badge of its own', [(1, b'{"type":"hello","backend":"native"}')], 4400),
        ('duplicate key', [(1, b'{"type":"ack","seq":0,"seq":0}')], 4400),
        ('an ack of what was not sent', [(1, b'{"type":"ack","seq":99999999}')], 4409),
    ]
    for label, frames, want in rows:
        v = view(t)
        for opcode, data in frames:
            v.ws.frame(opcode, data)
        code, reason = v.end()
        assert code == want and reason, (label, code, reason)
    # in pieces it is one message
    v = view(t)
    v.ws.frame(2, struct.pack('>Q', 0) + b'\x15echo fr', fin=False)
    v.ws.frame(0, b'ag$((1+1))ment\r')
    assert v.see('frag2ment')
    # unmasked frames, reserved bits: the connection ends, the terminal does not
    for raw in [b'\x82\x01a', b'\xf2\x80\0\0\0\0', b'\x83\x80\0\0\0\0', os.urandom(64)]:
        w = view(t)
        w.ws.s.sendall(raw)
        w.ws.s.shutdown(socket.SHUT_WR)
        w.end()
    assert api('GET', '/v1/terminals/' + t['id'])[1]['state'] == 'running'
    # one viewer too many
    many = [view(t) for _ in range(15)]
    assert view(t).closed[0] == 4429
    assert all(m.closed is None for m in many)


def case_who():
    t = start()
    path = f"/v1/terminals/{t['id']}/io"
    own, foreign = f'Origin: http://127.0.0.1:{PORT}', 'Origin: http://evil.test'
    for headers, good in [((), False), (BEARER, True), ([*BEARER, own], True), ([*BEARER, foreign], False), ([own], False),
                          (['Authorization: Bearer wrong'], False), ([*BEARER, 'Origin: null'], False)]:
        try:
            Ws(path, port=PORT, headers=headers)
            assert good, headers
        except Refused:
            assert not good, headers
    try:
        Ws(path, sock=SOCK, headers=[foreign])
        raise AssertionError('a foreign origin over the Unix socket')
    except Refused:
        pass
    # those that are gone are not counted
    for _ in range(30):
        Ws(path, sock=SOCK).close()
    for _ in range(100):
        if api('GET', '/healthz')[1]['connections'] <= 3:
            break
        time.sleep(0.05)
    else:
        raise AssertionError(api('GET', '/healthz'))
    for bad in ['/v1/terminals/nobody/io', path + '?from=x', path + '?window=-1', path + 'x']:
        try:
            Ws(bad, sock=SOCK)
            raise AssertionError(bad)
        except Refused:
            pass


def case_close():
    t = start()
    v = view(t)
    v.type("trap '' HUP; (trap '' HUP; setsid sleep 1618 &) ; sleep 1618 & echo up$((1+1))\r")
    assert v.see('up2')
    assert api('DELETE', '/v1/terminals/' + t['id'])[0] == 202
    assert v.end() == (4000, 'the terminal was closed') and gone('1618')
    t = start(idleSeconds=1)
    assert view(t).end()[0] == 4001
    t = start(backend='native')
    v = view(t)
    v.type("trap '' HUP; (trap '' HUP; setsid sleep 1618 &) ; sleep 1618 & echo up$((1+1))\r")
    assert v.see('up2')
    assert api('DELETE', '/v1/terminals/' + t['id'])[0] == 202
    assert v.end()[0] == 4000 and gone('1618')


def case_leave():
    """Started, and left to the caller, who ends the daemon: prints what is to be gone then."""
    for backend in ('none', 'native'):
        v = view(start(backend=backend))
        v.type("trap '' HUP; (trap '' HUP; setsid sleep 1732 &) ; sleep 1732 & echo up$((1+1))\r")
        assert v.see('up2')
    for _ in range(100):
        if count('1732') >= 4:
            return
        time.sleep(0.05)
    raise AssertionError(count('1732'))


def case_going():
    """The daemon is told to stop: viewers hear it."""
    views = [view(start(backend=backend)) for backend in ('none', 'native')]
    for v in views:
        v.type("trap '' HUP; (setsid sleep 1732 &) ; sleep 1732 & echo up$((1+1))\r")
        assert v.see('up2')
    os.kill(int(os.environ['SERVER']), 15)
    for v in views:
        assert v.end() == (1001, 'the server stops') and v.exit['reason'] == 'the server stops', (v.closed, v.exit)
    assert gone('1732')


def case_gone():
    assert gone('1732')


globals()['case_' + sys.argv[1]]()
print('fine')
