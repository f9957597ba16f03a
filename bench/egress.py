#!/usr/bin/env python3
"""CPU of cc-proxy and of the proxies people use instead, per operation, by the kernel's own accounting, in interleaved rounds,
medians. Everything on loopback. Exits 1 on a missed bar.

usage: egress.py BUILD [--write]      peers that are not installed are left out, and said
"""
import os
import re
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile
import time

BUILD = os.path.abspath(sys.argv[1])
LOAD = os.path.join(BUILD, 'bench-egress')
BASE = tempfile.mkdtemp(prefix='ccbox-bench.', dir='/var/tmp')
os.chmod(BASE, 0o755)
SRT = os.environ.get('CCBOX_SRT', '/var/tmp/ccbox-bench-srt/node_modules/@anthropic-ai/sandbox-runtime')
CPUACCT = '/sys/fs/cgroup/cpuacct'
ROUNDS = 5
TUNNELS, REQUESTS, BULK, IDLE = 1200, 3000, 512, 5000
TICK = os.sysconf('SC_CLK_TCK')
started, meters = [], []


def start(argv, **more):
    child = subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, start_new_session=True, **more)
    started.append(child)
    return child


class Meter:
    """CPU seconds of a process and all it starts: by a cpuacct group where there is one, else by /proc, exited children included."""

    def __init__(self, name, pids):
        self.pids, self.group = pids, os.path.join(CPUACCT, f'ccbox-bench-{os.getpid()}-{name}')
        try:
            os.mkdir(self.group)
            for pid in tree(pids):
                open(os.path.join(self.group, 'cgroup.procs'), 'w').write(str(pid))
        except OSError:
            self.group = None
        meters.append(self)

    def read(self):
        if self.group:
            return int(open(os.path.join(self.group, 'cpuacct.usage')).read()) / 1e9
        total = 0
        for pid in tree(self.pids):
            try:
                fields = open(f'/proc/{pid}/stat').read().rpartition(')')[2].split()
                total += sum(map(int, fields[11:15]))
            except OSError:
                pass
        return total / TICK

    def memory(self):
        """proportional set, kB"""
        total = 0
        for pid in tree(self.pids):
            try:
                total += int(re.search(r'^Pss:\s+(\d+)', open(f'/proc/{pid}/smaps_rollup').read(), re.M).group(1))
            except (OSError, AttributeError):
                pass
        return total

    def anonymous(self):
        return sum(int(re.search(r'RssAnon:\s+(\d+)', open(f'/proc/{pid}/status').read()).group(1)) for pid in tree(self.pids))

    def done(self):
        if self.group:
            for _ in range(50):
                try:
                    os.rmdir(self.group)
                    return
                except OSError:
                    time.sleep(0.1)


def tree(pids):
    parents = {}
    for entry in os.listdir('/proc'):
        if entry.isdigit():
            try:
                parents[int(entry)] = int(open(f'/proc/{entry}/stat').read().rpartition(')')[2].split()[1])
            except OSError:
                pass
    found = list(pids)
    for pid in found:
        found += [child for child, parent in parents.items() if parent == pid and child not in found]
    return found


def free_port():
    import socket
    with socket.socket() as probe:
        probe.bind(('127.0.0.1', 0))
        return probe.getsockname()[1]


def wait_port(port):
    import socket
    for _ in range(200):
        try:
            socket.create_connection(('127.0.0.1', port), 1).close()
            return True
        except OSError:
            time.sleep(0.05)
    return False


def config(name, text):
    path = os.path.join(BASE, name)
    open(path, 'w').write(text)
    return path


def ours(entries=50, conns=16000):
    child = start([LOAD, 'proxy', os.path.join(BUILD, 'cc-proxy'), str(entries), str(conns)])
    pid, http, socks = map(int, child.stdout.readline().split())
    return {'connect': http, 'socks': socks, 'pids': [pid]}


def daemon(argv, port, kind, **more):
    child = start(argv, **more)
    return {kind: port, 'pids': [child.pid]} if wait_port(port) and child.poll() is None else None


def squid():
    port = free_port()
    return daemon(['squid', '-N', '-f', config('squid.conf', f'http_port 127.0.0.1:{port}\nhttp_access allow all\ncache deny all\naccess_log none\n'
                   f'cache_log {BASE}/squid.log\npid_filename none\ncoredump_dir {BASE}\npinger_enable off\nmax_filedescriptors 16384\n'
                   f'cache_effective_user {"nobody" if os.geteuid() == 0 else os.environ.get("USER", "nobody")}\nshutdown_lifetime 0 seconds\n')], port, 'connect')


def tinyproxy():
    port = free_port()
    return daemon(['tinyproxy', '-d', '-c', config('tinyproxy.conf', f'Port {port}\nListen 127.0.0.1\nMaxClients 6000\nAllow 127.0.0.1\nLogLevel Critical\nLogFile "/dev/null"\n')],
                  port, 'connect')


def privoxy():
    port = free_port()
    return daemon(['privoxy', '--no-daemon', config('privoxy.conf', f'listen-address 127.0.0.1:{port}\nlogdir {BASE}\nlogfile privoxy.log\ndebug 0\nkeep-alive-timeout 300\n'
                   'connection-sharing 0\nmax-client-connections 6000\nlisten-backlog 512\n')], port, 'connect')


def microsocks():
    port = free_port()
    return daemon(['microsocks', '-i', '127.0.0.1', '-p', str(port)], port, 'socks')


def dante():
    port = free_port()
    return daemon(['danted', '-f', config('danted.conf', f'logoutput: /dev/null\ninternal: 127.0.0.1 port = {port}\nexternal: lo\nclientmethod: none\nsocksmethod: none\n'
                   'user.unprivileged: nobody\nclient pass {\n from: 127.0.0.0/8 to: 0.0.0.0/0\n}\nsocks pass {\n from: 127.0.0.0/8 to: 0.0.0.0/0\n}\n')], port, 'socks')


def srt():
    http, socks = free_port(), free_port()
    script = config('srt.mjs', f'''
        import net from "node:net";
        import {{ createHttpProxyServer }} from "{SRT}/dist/sandbox/http-proxy.js";
        import {{ createSocksProxyServer }} from "{SRT}/dist/sandbox/socks-proxy.js";
        createHttpProxyServer({{ filter: () => true }}).listen({http}, "127.0.0.1");
        const socks = createSocksProxyServer({{ filter: () => true }});
        net.createServer(s => socks.handleConnection(s)).listen({socks}, "127.0.0.1");''')
    if not os.path.isdir(SRT):
        return None
    peer = daemon(['node', script], http, 'connect')
    if peer:
        peer['socks'] = socks
    return peer


PEERS = {'squid': ('squid', squid), 'tinyproxy': ('tinyproxy', tinyproxy), 'privoxy': ('privoxy', privoxy), 'microsocks': ('microsocks', microsocks),
         'dante': ('danted', dante), 'srt': ('node', srt)}


def load(what, port, kind, to, count, host='127.0.0.1'):
    done = subprocess.run([LOAD, what, str(port), kind, host, str(to), str(count)], capture_output=True, text=True, timeout=300)
    return float(done.stdout) if done.returncode == 0 and done.stdout else None


def measure(proxies, what, kind, to, count, rounds=ROUNDS):
    """name -> median CPU seconds for one operation"""
    seen = {name: [] for name in proxies if kind in proxies[name]}
    for name in seen:  # a first time that does not count
        load(what, proxies[name][kind], kind, to, max(count // 20, 1))
    for _ in range(rounds):
        for name in list(seen):
            meter = proxies[name]['meter']
            before = meter.read()
            if load(what, proxies[name][kind], kind, to, count) is None:
                print(f'# {name}: {what} by {kind} failed; left out', file=sys.stderr)
                del seen[name]
                continue
            time.sleep(0.05)
            seen[name].append((meter.read() - before) / count)
    return {name: statistics.median(values) for name, values in seen.items()}


lines, missed = [], 0


def row(name, mine, peers, bar, unit, better='less'):
    """bar: of the ratio to the best peer"""
    global missed
    best = (min if better == 'less' else max)(peers, key=peers.get) if peers else None
    ratio = mine / peers[best] if best else None
    bad = ratio is not None and bar is not None and (ratio > bar if better == 'less' else ratio < bar)
    missed += bad
    others = ', '.join(f'{peer} {unit(value)}' for peer, value in sorted(peers.items(), key=lambda item: item[1], reverse=better != 'less'))
    lines.append(f'| {name} | {unit(mine)} | {others or "none here"} | {"" if ratio is None else f"{ratio:.2f}"} | '
                 f'{"" if bar is None else ("≤ " if better == "less" else "≥ ") + f"{bar:.2f}"}{" **missed**" if bad else ""} |')
    print(lines[-1], flush=True)


def micro(value):
    return f'{value * 1e6:.1f} µs'


def split(values):
    return values.pop('ccbox', None), values


def floor(*argv):
    """the least that one process can do it for: bench/floor.c"""
    pid, port = map(int, start([os.path.join(BUILD, 'bench-floor'), *argv]).stdout.readline().split())
    return {'connect': port, 'pids': [pid], 'meter': Meter('floor' + ''.join(argv), [pid])}


def main_rows(proxies, to):
    mine, peers = split(measure({**proxies, 'floor': floor()}, 'tunnels', 'connect', to, TUNNELS))
    least = peers.pop('floor')
    socks_mine, socks = split(measure(proxies, 'tunnels', 'socks', to, TUNNELS))
    row('a CONNECT tunnel', mine, {**peers, **{f'{name} (SOCKS)': value for name, value in socks.items() if name not in peers}}, 0.45, micro)
    row('the same, to the least a tunnel can cost', mine, {'bench/floor.c': least}, None, micro)
    row('a SOCKS5 tunnel', socks_mine, socks, None, micro)
    mine, peers = split(measure({**proxies, 'floor': floor(str(to))}, 'requests', 'connect', to, REQUESTS))
    least = peers.pop('floor')
    row('a keep-alive request', mine, peers, 0.25, micro)
    row('the same, to the least it can cost', mine, {'bench/floor.c': least}, None, micro)
    mine, peers = split(measure(proxies, 'bulk', 'connect', to, BULK, 3))
    rate = lambda value: 1 / value / 1024
    row('bulk, GB per CPU-second', rate(mine), {name: rate(value) for name, value in peers.items()}, 2.5, lambda v: f'{v:.2f}', 'more')


def namespace_row(to):
    """Out of a session, against the host's loopback: the same binary, the same load, only the listener's place differs."""
    ccbox = os.path.join(BUILD, 'ccbox')
    env = {**os.environ, 'HOME': BASE, 'XDG_STATE_HOME': BASE + '/state'}
    outside, inside = [], []
    host = ours(5)
    host['meter'] = Meter('host', host['pids'])
    argv = [ccbox, 'run', '--quiet', '--no-pty', '--bind', BASE, '--bind', BUILD + ':ro', '--workdir', BASE, '--allow-host', '127.0.0.1', '--', 'sh', '-c',
            f'read go; while [ "$go" = go ]; do {LOAD} tunnels 3128 connect 127.0.0.1 {to} {TUNNELS}; read go; done']
    box = start(argv, env=env, cwd=BASE)
    time.sleep(1)
    proxy = [pid for pid in tree([box.pid]) if open(f'/proc/{pid}/comm').read().strip() == 'cc-proxy']
    meter = Meter('box', proxy)
    for number in range(ROUNDS + 1):
        before = host['meter'].read()
        load('tunnels', host['connect'], 'connect', to, TUNNELS)
        after = host['meter'].read()
        first = meter.read()
        box.stdin.write('go\n')
        box.stdin.flush()
        box.stdout.readline()
        time.sleep(0.05)
        if number:
            outside.append((after - before) / TUNNELS)
            inside.append((meter.read() - first) / TUNNELS)
    box.stdin.close()
    row('a tunnel out of a session, to one on the host', statistics.median(inside), {'host loopback': statistics.median(outside)}, 1.10, micro)


def flat_rows(to):
    few, many = ours(10), ours(10000)
    for name, proxy in (('few', few), ('many', many)):
        proxy['meter'] = Meter(name, proxy['pids'])
    # The rig's proxy answers to the same literal: its entry is one among them all.
    seen = measure({'few': few, 'many': many}, 'tunnels', 'connect', to, TUNNELS)
    row('a tunnel with 10,000 entries, to 10', seen['many'], {'10 entries': seen['few']}, 1.10, micro)
    holder = start([LOAD, 'idle', str(few['connect']), 'connect', '127.0.0.1', str(to), str(IDLE)])
    before = few['meter'].anonymous()
    count = int(holder.stdout.readline().split()[1])
    after = few['meter'].anonymous()
    lines.append(f'| an idle tunnel, of {count} | {(after - before) * 1024 / max(count, 1):.0f} bytes | | | ≤ 512 bytes |')
    print(lines[-1], flush=True)
    loaded = measure({'few': few, 'many': many}, 'tunnels', 'connect', to, TUNNELS)
    row(f'a tunnel beside {count} idle ones, to none', loaded['few'], {'none': loaded['many']}, 1.10, micro)
    holder.stdin.close()
    holder.wait()
    fresh = ours(50)
    base = Meter('fresh', fresh['pids'])
    rss = int(re.search(r'VmRSS:\s+(\d+)', open(f'/proc/{fresh["pids"][0]}/status').read()).group(1))
    global missed
    missed += rss > 1.5 * 1024
    lines.append(f'| resident at rest (private: {base.anonymous() / 1024:.2f} MiB) | {rss / 1024:.2f} MiB | | | ≤ 1.50 MiB{" **missed**" if rss > 1.5 * 1024 else ""} |')
    print(lines[-1], flush=True)


def main():
    server = start([LOAD, 'serve'])
    to = int(server.stdout.readline())
    proxies = {'ccbox': ours()}
    for name, (binary, begin) in PEERS.items():
        peer = begin() if shutil.which(binary) or os.path.exists('/usr/sbin/' + binary) else None
        if peer:
            proxies[name] = peer
        else:
            print(f'# {name} is not installed or does not start: left out', file=sys.stderr)
    for name, proxy in proxies.items():
        proxy['meter'] = Meter(name, proxy['pids'])
    try:
        lines.extend(['| egress, CPU of the proxy | ccbox | peers, best first | to the best | bar |', '|---|---|---|---|---|'])
        main_rows(proxies, to)
        flat_rows(to)
        namespace_row(to)
    finally:
        for child in started:
            try:
                os.killpg(child.pid, signal.SIGKILL)
            except OSError:
                pass
            child.wait()
        for meter in meters:  # empty only now
            meter.done()
        shutil.rmtree(BASE, ignore_errors=True)
    if '--write' in sys.argv:
        page = 'docs/benchmarks.md'
        text = open(page).read()
        text = re.sub(r'(<!-- egress -->\n).*?(<!-- end of egress -->)', lambda m: m.group(1) + '\n'.join(lines) + '\n' + m.group(2), text, flags=re.S)
        open(page, 'w').write(text)
    return 1 if missed else 0


sys.exit(main())
