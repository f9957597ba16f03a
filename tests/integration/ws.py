"""A WebSocket client for the tests, over TCP or the Unix socket, that can also send what no client should."""
import base64, hashlib, json, os, select, socket, struct, time


class Refused(Exception):
    pass


class Ws:
    def __init__(self, path, sock=None, port=None, headers=(), wait=20):
        self.wait = wait
        if sock:
            self.s = socket.socket(socket.AF_UNIX)
            self.s.connect(sock)
            host = 'ccbox'
        else:
            self.s = socket.create_connection(('127.0.0.1', port))
            host = f'127.0.0.1:{port}'
        self.s.settimeout(wait)
        key = base64.b64encode(os.urandom(16)).decode()
        lines = [f'GET {path} HTTP/1.1', f'Host: {host}', 'Upgrade: websocket', 'Connection: Upgrade',
                 f'Sec-WebSocket-Key: {key}', 'Sec-WebSocket-Version: 13', 'Sec-WebSocket-Protocol: ccbox.v1', *headers, '', '']
        self.s.sendall('\r\n'.join(lines).encode())
        self.buf = b''
        while b'\r\n\r\n' not in self.buf:
            got = self.s.recv(65536)
            if not got:
                raise Refused('closed')
            self.buf += got
        head, self.buf = self.buf.split(b'\r\n\r\n', 1)
        if b' 101 ' not in head.split(b'\r\n')[0]:
            raise Refused(head.split(b'\r\n')[0].decode())
        want = base64.b64encode(hashlib.sha1((key + '258EAFA5-E914-47DA-95CA-C5AB0DC85B11').encode()).digest())
        assert want in head, head

    def frame(self, opcode, data, fin=True):
        mask = os.urandom(4)
        n = len(data)
        head = bytes([(0x80 if fin else 0) | opcode])
        head += bytes([0x80 | n]) if n < 126 else bytes([0x80 | 126]) + struct.pack('>H', n) if n < 65536 else \
            bytes([0x80 | 127]) + struct.pack('>Q', n)
        masked = bytes(b ^ mask[i % 4] for i, b in enumerate(data)) if n < 4096 else \
            (int.from_bytes(data, 'big') ^ int.from_bytes((mask * (n // 4 + 1))[:n], 'big')).to_bytes(n, 'big')
        self.s.sendall(head + mask + masked)

    def need(self, n):
        while len(self.buf) < n:
            got = self.s.recv(1 << 16)
            if not got:
                raise EOFError
            self.buf += got
        out, self.buf = self.buf[:n], self.buf[n:]
        return out

    def recv(self):
        """(opcode, bytes) of one whole message."""
        kind, data = None, b''
        while True:
            a, b = self.need(2)
            n = b & 0x7f
            if n == 126:
                n = struct.unpack('>H', self.need(2))[0]
            elif n == 127:
                n = struct.unpack('>Q', self.need(8))[0]
            part = self.need(n)
            op = a & 15
            if op == 9:
                self.frame(10, part)
                continue
            if op == 8:
                return 8, part
            if op:
                kind = op
            data += part
            if a & 0x80:
                return kind, data

    def close(self):
        self.s.close()


class Term:
    """A viewer of a terminal: text() grows, title and badge are kept, typed input is numbered."""

    def __init__(self, tid, query='', **how):
        self.ws = Ws(f'/v1/terminals/{tid}/io{query}', **how)
        self.sent, self.out, self.at, self.texts = 0, b'', None, []
        self.exit = self.closed = None
        op, data = self.ws.recv()
        if op == 8:
            self.closed = (struct.unpack('>H', data[:2])[0], data[2:].decode())
            return
        self.hello = json.loads(data)
        assert op == 1 and self.hello['type'] == 'hello', data
        self.first = self.at = self.hello['seq']

    def step(self):
        try:
            op, data = self.ws.recv()
        except EOFError:
            op, data = 8, struct.pack('>H', 1006) + b'no close frame'
        if op == 8:
            self.closed = (struct.unpack('>H', data[:2])[0], data[2:].decode())
        elif op == 1:
            message = json.loads(data)
            self.texts.append(message)
            if message['type'] == 'exit':
                self.exit = message
        else:
            seq = struct.unpack('>Q', data[:8])[0]
            assert seq == self.at, (seq, self.at)
            self.at += len(data) - 8
            self.out += data[8:]

    def type(self, text):
        data = text if isinstance(text, bytes) else text.encode()
        self.ws.frame(2, struct.pack('>Q', self.sent) + data)
        self.sent += len(data)

    def tell(self, **message):
        self.ws.frame(1, json.dumps(message).encode())

    def see(self, text):
        want = text.encode()
        while want not in self.out:
            if self.closed:
                raise AssertionError((text, self.closed, self.out[-500:]))
            try:
                self.step()
            except TimeoutError:
                raise AssertionError(('never seen', text, self.out[-500:]))
        return True

    def told(self, **want):
        """A text message with these members, now or later."""
        while True:
            for message in self.texts:
                if all(message.get(k) == v for k, v in want.items()):
                    return message
            assert not self.closed, (want, self.closed)
            self.step()

    def end(self):
        while not self.closed:
            self.step()
        return self.closed

    def quiet(self, seconds):
        """True: nothing comes for so long."""
        return not self.ws.buf and not select.select([self.ws.s], [], [], seconds)[0]
