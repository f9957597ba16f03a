"""Drives ccbox on a terminal of its own: terminal.py CASE CCBOX. Prints "fine" when what the case states holds."""
import fcntl, os, pty, re, select, signal, struct, sys, termios, time

CCBOX = sys.argv[2]


class Term:
    def __init__(self, *command, rows=24, cols=80, flags=(), under=None):
        self.text = b''
        self.master, slave = pty.openpty()
        self.size(rows, cols)
        self.slave = os.open(os.ttyname(slave), os.O_RDWR | os.O_NOCTTY)
        self.before = termios.tcgetattr(self.slave)
        self.pid = os.fork()
        if self.pid == 0:
            os.setsid()
            fcntl.ioctl(slave, termios.TIOCSCTTY, 0)
            for fd in (0, 1, 2):
                os.dup2(slave, fd)
            os.closerange(3, 100)
            if under:
                os.execv(under[0], under)
            os.execv(CCBOX, [CCBOX, 'run', '--quiet', *flags, '--', *command])
        os.close(slave)

    def size(self, rows, cols):
        fcntl.ioctl(self.master, termios.TIOCSWINSZ, struct.pack('HHHH', rows, cols, 0, 0))

    def pump(self, seconds=0.05):
        if select.select([self.master], [], [], seconds)[0]:
            try:
                self.text += os.read(self.master, 65536)
            except OSError:
                return False
        return True

    def wait_for(self, pattern, seconds=15):
        end = time.time() + seconds
        while not re.search(pattern, self.text):
            if time.time() > end:
                raise SystemExit('no %r in %r' % (pattern, self.text))
            self.pump()

    def send(self, data):
        os.write(self.master, data)

    def end(self, seconds=15):
        end = time.time() + seconds
        while True:
            self.pump()
            pid, status = os.waitpid(self.pid, os.WNOHANG)
            if pid:
                while select.select([self.master], [], [], 0)[0] and self.pump(0):
                    pass
                return os.waitstatus_to_exitcode(status)
            if time.time() > end:
                os.kill(self.pid, signal.SIGKILL)
                raise SystemExit('does not end: %r' % self.text)


def equal(what, got, want):
    if got != want:
        raise SystemExit('%s: got %r, want %r' % (what, got, want))


def isatty():
    t = Term('sh', '-c', 'for n in 0 1 2; do test -t $n || echo no; done; tty; echo done; exit 7')
    equal('code', t.end(), 7)
    t.wait_for(rb'done')
    if b'no\r\n' in t.text or b'/dev/pts/' not in t.text:
        raise SystemExit(repr(t.text))


def interrupt():
    """OPS-02: ^C reaches the foreground as SIGINT."""
    t = Term('sh', '-c', 'echo up; exec sleep 30')
    t.wait_for(rb'up')
    t.send(b'\x03')
    equal('code', t.end(), 130)


def interrupt_job():
    t = Term('bash', '--norc', '-i', '-c', 'echo up; sleep 30; echo "after $?"')
    t.wait_for(rb'up')
    time.sleep(0.3)
    t.send(b'\x03')
    t.end()


def jobs():
    """A shell's job control: ^Z stops, fg goes on, ^C ends the job and not the shell."""
    t = Term('bash', '--norc', '-i')
    t.send(b'PS1="READY> "\n')
    t.wait_for(rb'READY> $')
    t.send(b'sleep 100\n')
    time.sleep(0.5)
    t.send(b'\x1a')
    t.wait_for(rb'Stopped')
    t.send(b'fg\n')
    t.wait_for(rb'fg\r\n.*sleep 100\r\n')
    time.sleep(0.3)
    t.send(b'\x03')
    t.send(b'echo code $?\n')
    t.wait_for(rb'code 130')
    t.send(b'exit 4\n')
    equal('code', t.end(), 4)


def resize():
    """OPS-03"""
    t = Term('sh', '-c', 'stty size; trap "stty size; exit 0" WINCH; echo up; while :; do sleep 0.1; done', rows=31, cols=97)
    t.wait_for(rb'up')
    if b'31 97' not in t.text:
        raise SystemExit(repr(t.text))
    t.size(40, 120)
    os.kill(t.pid, signal.SIGWINCH)
    t.wait_for(rb'40 120')
    equal('code', t.end(), 0)


def tiocsti():
    """SYS-04: neither keystrokes nor console tricks, also with high bits set in the request."""
    code = '''
import fcntl, ctypes
libc = ctypes.CDLL(None, use_errno=True)
for request in (0x5412, 0x541c, 0x541d, 0x5423, 0x5412 | (1 << 32), 0x100005412):
    buf = ctypes.create_string_buffer(b"x")
    r = libc.ioctl(0, ctypes.c_ulong(request), buf)
    print("escaped" if r == 0 else "errno %d" % ctypes.get_errno())
'''
    t = Term('/usr/bin/python3', '-c', code)
    equal('code', t.end(), 0)
    if b'escaped' in t.text or t.text.count(b'errno 1\r') != 6:
        raise SystemExit(repr(t.text))


def restored():
    """The person's terminal is as it was, whatever the command did to its own and however it ended."""
    for script, code in (('stty raw -echo; printf "\\033[?1049h\\033[?25l"; exit 3', 3), ('stty -echo; kill -9 $$', 137)):
        t = Term('sh', '-c', script)
        equal('code', t.end(), code)
        equal('modes', termios.tcgetattr(t.slave), t.before)
    t = Term('sh', '-c', 'stty raw -echo; echo up; sleep 30')
    t.wait_for(rb'up')
    os.kill(t.pid, signal.SIGTERM)
    t.end()
    equal('modes after SIGTERM', termios.tcgetattr(t.slave), t.before)


def suspended():
    """A program that suspends itself gives the terminal back to the person's shell; fg brings it on again."""
    t = Term(under=['/bin/bash', '--norc', '-i'])
    t.send(b"PS1='$ '; '%s' run --quiet -- sh -c 'stty raw -echo; echo u\"\"p; kill -STOP $$; stty sane; echo ba\"\"ck; exit 4'\n" % CCBOX.encode())
    t.wait_for(rb'up')
    t.wait_for(rb'Stopped')
    t.send(b'stty -a | grep -c " icanon"; echo si"z"e\n')
    t.wait_for(rb'1\r\nsize')
    t.send(b'fg\n')
    t.wait_for(rb'(?s)back.*\$ $')  # what is typed before the prompt is dropped
    t.send(b'echo code=$?; exit 9\n')
    t.wait_for(rb'code=4')
    equal('code', t.end(), 9)


def unsuspended():
    """Where no shell could bring it on again, a program that suspends itself goes on at once."""
    t = Term('sh', '-c', 'kill -STOP $$; echo went on; exit 4')
    t.wait_for(rb'went on')
    equal('code', t.end(), 4)


def stopped():
    """While it runs the terminal is raw, so that every key goes inside: ^\\, ^Z and ^S too."""
    t = Term('sh', '-c', 'stty raw -echo; echo up; dd bs=1 count=4 2>/dev/null | od -An -tx1; stty sane')
    t.wait_for(rb'up')
    time.sleep(0.3)
    t.send(b'\x03\x1a\x1c\x13')
    t.wait_for(rb'03 1a 1c 13')
    equal('code', t.end(), 0)


def piped_output():
    """A terminal in, a pipe out: what is written arrives without carriage returns of the terminal's making."""
    t = Term('sh', '-c', 'echo a; echo b', flags=('--no-pty',))
    equal('code', t.end(), 0)


def secret_input():
    """What is typed without echo is not shown."""
    t = Term('bash', '-c', 'read -s -p "word: " w; echo; echo "${#w} letters"')
    t.wait_for(rb'word: ')
    time.sleep(0.2)
    t.send(b'sesame\n')
    t.wait_for(rb'6 letters')
    equal('code', t.end(), 0)
    if b'sesame' in t.text:
        raise SystemExit(repr(t.text))


def claude():
    """Claude Code's own screen: a prompt typed, its command run, its answer shown, left by ^C twice."""
    t = Term(os.environ['CLAUDE'], rows=40, cols=120, flags=os.environ['FLAGS'].split())
    t.wait_for(rb'shift\+tab|for shortcuts|/effort', 90)
    t.send(b'run the command')
    t.wait_for(rb'run(\x1b\[[0-9;?]*[a-zA-Z]| )+the(\x1b\[[0-9;?]*[a-zA-Z]| )+command', 60)
    time.sleep(0.5)
    t.send(b'\r')
    t.wait_for(rb'is_error=', 90)
    for _ in range(40):
        t.send(b'\x03')
        end = time.time() + 0.5
        while time.time() < end:
            if not t.pump():
                break
        if os.waitid(os.P_PID, t.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT):
            break
    t.end(30)


def end_of_input():
    t = Term('sh', '-c', 'cat; echo "end $?"')
    time.sleep(0.5)
    t.send(b'line\n\x04')
    t.wait_for(rb'end 0')
    equal('code', t.end(), 0)


globals()[sys.argv[1]]()
print('fine')
