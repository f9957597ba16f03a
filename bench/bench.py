#!/usr/bin/env python3
"""Ratios of ccbox to plain bubblewrap with the same mounts, in interleaved rounds, medians. Exits 1 on a missed bar.

usage: bench.py BUILD [ROW...]      prints a table and, with --write FILE, puts it into that page between its markers
"""
import os
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

BUILD = os.path.abspath(sys.argv[1])
CCBOX = os.path.join(BUILD, 'ccbox')
BASE = tempfile.mkdtemp(prefix='ccbox-bench.', dir='/var/tmp')
ENV = {**os.environ, 'HOME': os.path.join(BASE, 'home'), 'XDG_STATE_HOME': os.path.join(BASE, 'state'), 'GIT_CONFIG_NOSYSTEM': '1'}
os.makedirs(ENV['HOME'])


def run(argv, cwd):
    start = time.perf_counter()
    done = subprocess.run(argv, cwd=cwd, env=ENV, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
    if done.returncode != 0:
        sys.exit(f'{argv[:8]} failed in {cwd}: {done.stderr.decode()[-600:]}')
    return time.perf_counter() - start


def box(cwd, *command, flags=()):
    return [CCBOX, 'run', '--quiet', '--no-pty', *flags, '--bind', cwd, '--workdir', cwd, '--', *command]


def plain(cwd, *command):
    """bubblewrap with exactly the mounts that ccbox plans for that directory."""
    plan = subprocess.run([CCBOX, 'run', '--dry-run', '--bind', cwd, '--', 'true'], cwd=cwd, env=ENV, capture_output=True, text=True, check=True).stdout
    words = plan[plan.index('bwrap\n') + 6:plan.index('\n  -- ')].split()
    argv, at = ['bwrap'], 0
    while at < len(words):
        if words[at] == '--file':
            at += 3
        elif words[at] == '--perms' and words[at + 2] == '--file':
            at += 5
        elif words[at] == '--remount-ro':
            at += 2
        else:
            argv.append(words[at])
            at += 1
    path = '/usr/local/bin:/usr/bin:/bin'
    return argv + ['--chdir', cwd, '--setenv', 'PATH', path, '--setenv', 'HOME', ENV['HOME'], '--', *command]


def compare(left, right, rounds, cwd, between=None):
    """Median seconds of both, interleaved so that the machine's other work meets both alike."""
    a, b = [], []
    for _ in range(rounds):
        if between:
            between()
        a.append(run(left, cwd))
        if between:
            between()
        b.append(run(right, cwd))
    return statistics.median(a), statistics.median(b)


def files(directory, count, per=200, lines=1):
    """lines=80: about 4 KB each, like source files; 1: as many as quickly can be made."""
    for i in range(count):
        if i % per == 0:
            sub = os.path.join(directory, f'd{i // per}')
            os.makedirs(sub, exist_ok=True)
        with open(os.path.join(sub, f'f{i}.c'), 'w') as out:
            out.writelines(f'int f{i}_{k}(int x) {{ return x + {i} * {k}; }}\n' for k in range(lines))


def fresh(name):
    directory = os.path.join(BASE, name)
    os.makedirs(directory)
    return directory


def row_start():
    d = fresh('start')
    a, b = compare(plain(d, '/usr/bin/true'), box(d, '/usr/bin/true'), 31, d)
    return 'start: `ccbox run -- true`', a, b, 1.6


def row_warm():
    d = fresh('warm')
    out = subprocess.run([os.path.join(BUILD, 'bench-warm'), d, '301', '/usr/bin/true'], env=ENV, capture_output=True, text=True, check=True).stdout
    a, b = (float(x) / 1e6 for x in out.split())
    return 'the next command in a warm session, to a plain fork and exec', a, b, 1.5


def row_tree():
    small, large = fresh('small'), fresh('large')
    files(small, 100)
    files(large, 300_000)
    a, b = compare(box(small, '/usr/bin/true'), box(large, '/usr/bin/true'), 21, BASE)
    return 'start with 300,000 files in the tree, to 100', a, b, 1.1


def row_globs():
    d = fresh('globs')
    policy = os.path.join(BASE, 'sixty.jsonc')
    with open(policy, 'w') as out:
        out.write('{"filesystem":{"denyWrite":[' + ','.join(f'"**/*.secret{i}"' for i in range(54)) + ']}}')
    a, b = compare(box(d, '/usr/bin/true'), box(d, '/usr/bin/true', flags=['--policy', policy]), 21, d)
    return 'start with 60 globs, to 6', a, b, 1.1


def make_repo(d):
    files(d, 8000, lines=100)
    for argv in (['git', 'init', '-q', '.'], ['git', 'add', '-A'], ['git', '-c', 'user.name=b', '-c', 'user.email=b@example.test', '-c', 'gc.auto=0', 'commit', '-qm', 'x'], ['git', 'gc', '-q']):
        subprocess.run(argv, cwd=d, env=ENV, check=True)


def make_c(d):
    for i in range(60):
        with open(os.path.join(d, f's{i}.c'), 'w') as out:
            out.write('#include <stdio.h>\n' + ''.join(f'int g{i}_{k}(int x) {{ return printf("%d", x * {k}); }}\n' for k in range(400)))
    with open(os.path.join(d, 'Makefile'), 'w') as out:
        out.write('O = $(patsubst %.c,%.o,$(wildcard *.c))\nall: $(O)\n%.o: %.c\n\tcc -O1 -c $< -o $@\n')


def make_npm(d):
    """A project of 40 packages, 7,000 files, installed from local directories packed beforehand: no network."""
    deps = {}
    os.makedirs(os.path.join(d, 'pack'))
    for p in range(40):
        src = os.path.join(BASE, 'npm-src', f'p{p}')
        os.makedirs(os.path.join(src, 'lib'))
        with open(os.path.join(src, 'package.json'), 'w') as out:
            out.write(f'{{"name":"p{p}","version":"1.0.0"}}')
        for i in range(174):
            with open(os.path.join(src, 'lib', f'm{i}.js'), 'w') as out:
                out.write(f'module.exports = {i};\n' * 20)
        subprocess.run(['npm', 'pack', '--silent', '--pack-destination', os.path.join(d, 'pack')], cwd=src, env=ENV, check=True, stdout=subprocess.DEVNULL)
        deps[f'p{p}'] = f'file:pack/p{p}-1.0.0.tgz'
    import json
    with open(os.path.join(d, 'package.json'), 'w') as out:
        json.dump({'name': 'bench', 'version': '1.0.0', 'dependencies': deps}, out)
    subprocess.run(['npm', 'install', '--silent', '--no-audit', '--no-fund', '--package-lock-only'], cwd=d, env=ENV, check=True)


def clean_npm(d):
    shutil.rmtree(os.path.join(d, 'node_modules'), ignore_errors=True)


def clean_c(d):
    for name in os.listdir(d):
        if name.endswith('.o'):
            os.unlink(os.path.join(d, name))


# The gate's own table: the same work on a disk file system and on tmpfs, where the file system costs next to nothing.
# It is mounted where nobody else sees it, so those rows need root.
SHM = os.path.join(BASE, 'tmpfs')
if os.geteuid() == 0 and hasattr(os, 'fork') and 'CC_BENCH_MOUNTED' not in os.environ:
    os.rmdir(ENV['HOME'])
    os.rmdir(BASE)
    os.environ['CC_BENCH_MOUNTED'] = '1'
    os.execvp('unshare', ['unshare', '-m', sys.executable, *sys.argv])
os.makedirs(SHM)
if os.geteuid() == 0:
    subprocess.run(['mount', '-t', 'tmpfs', 'tmpfs', SHM], check=True)


def entered(argv, command):
    """The same with the least floor and the least filter (entry.c): what any sandbox of this kind costs."""
    at = len(argv) - len(command)
    show = ['--ro-bind', os.path.join(BUILD, 'bench-entry'), '/bench-entry']
    at -= argv[at - 1] == '--'
    return [*argv[:at], *show, '--', '/bench-entry', *command]


def on(base, name, bar, make, command, rounds=5, reset=None, least=False):
    d = os.path.join(base, re.sub(r'\W+', '-', name))
    os.makedirs(d)
    make(d)
    command = ('sh', '-c', command)
    name, between, bare = f'{name}, {"tmpfs" if base == SHM else "disk"}', (lambda: reset(d)) if reset else None, plain(d, *command)
    yield name, *compare(bare, box(d, *command), rounds, d, between), bar
    if least:
        yield f'{name}: to the least floor and filter', *compare(entered(bare, command), box(d, *command), rounds, d, between), None
    shutil.rmtree(d, ignore_errors=True)


def both(name, bars, make, command, rounds=5, reset=None, least=False):
    for base, bar in zip((BASE, SHM) if os.geteuid() == 0 else (BASE,), bars):
        yield from on(base, name, bar, make, command, rounds, reset, least)


READS = (1.03, 1.05)


def row_grep():
    yield from both('grep -r over 8,000 files of 4 KB, 40 times', READS, make_repo, 'for i in $(seq 40); do grep -rc return . >/dev/null; done', 7, least=True)


def row_find():
    yield from both('find over 8,000 files, 300 times', READS, make_repo, 'for i in $(seq 300); do find . -name "*.h" >/dev/null; done', 7, least=True)


def row_status():
    yield from both('git status, 120 times', READS, make_repo, 'for i in $(seq 120); do git status >/dev/null; done', 7, least=True)


def row_npm():
    yield from both('npm ci of 7,000 files', (1.08, 1.05), make_npm, 'npm ci --offline --silent --no-audit --no-fund', 7, clean_npm)


def row_make():
    yield from both('make -j2 of 60 C files', (1.02, 1.05), make_c, 'make -j2 -s', 7, clean_c)


def nothing(d):
    pass


def clean_out(d):
    shutil.rmtree(os.path.join(d, 'out'), ignore_errors=True)
    os.makedirs(os.path.join(d, 'out'))


def make_tree(d):
    """5,000 files in 180 directories, 1 to 12 KB: about git's own tree; a tar file and a repository of it."""
    src = os.path.join(BASE, 'tree')
    if not os.path.isdir(src):
        for i in range(5000):
            sub = os.path.join(src, f's{i % 12}', f'd{i % 180}')
            os.makedirs(sub, exist_ok=True)
            with open(os.path.join(sub, f'f{i}.c'), 'w') as out:
                out.writelines(f'int f{i}_{k}(int x) {{ return x * {k}; }}\n' for k in range(30 + i % 290))
        for argv in (['git', 'init', '-q', '.'], ['git', 'add', '-A'], ['git', '-c', 'user.name=b', '-c', 'user.email=b@example.test', '-c', 'gc.auto=0', 'commit', '-qm', 'x'], ['git', 'gc', '-q']):
            subprocess.run(argv, cwd=src, env=ENV, check=True)
        subprocess.run(['tar', '--exclude', './.git', '-cf', os.path.join(BASE, 'tree.tar'), '.'], cwd=src, check=True)
    shutil.copy(os.path.join(BASE, 'tree.tar'), d)
    subprocess.run(['git', 'clone', '-q', '--bare', '--no-local', src, os.path.join(d, 'repo')], env=ENV, check=True)
    clean_out(d)


def unpacked(d):
    clean_out(d)
    subprocess.run(['tar', '-xf', '../tree.tar'], cwd=os.path.join(d, 'out'), check=True)


def row_small():
    yield from both('20,000 files of 200 bytes', (1.25, 3.5), nothing, "python3 -c 'import os\nfor i in range(20000):\n f=os.open(\"out/%d\"%i,os.O_WRONLY|os.O_CREAT,0o644);os.write(f,b\"x\"*200);os.close(f)'", reset=clean_out)


def row_tar():
    yield from both('tar x of 5,000 files', (1.2, 2.2), make_tree, 'tar -C out -xf tree.tar', reset=clean_out)


def row_rm():
    yield from both('rm -rf of 5,000 files', (1.8, 2.5), make_tree, 'rm -rf out/*', reset=unpacked)


def row_clone():
    yield from both('git clone and checkout of 5,000 files', (1.25, 1.35), make_tree, 'git clone -q --no-hardlinks repo out/c', reset=clean_out)


def row_calls():
    """One failing unlink by a relative path, so that the file system does nothing, to a notification that is answered at once, and
    to the least that a supervisor must do which acts itself on what it judged."""
    d = fresh('calls')
    tool = shutil.copy(os.path.join(BUILD, 'bench-calls'), d)
    bare, least, here = [], [], []
    for _ in range(9):
        bare.append(int(subprocess.run([tool, 'bare', '4000'], cwd=d, capture_output=True, text=True, check=True).stdout.split()[1]))
        least.append(int(subprocess.run([tool, 'least', '4000'], cwd=d, capture_output=True, text=True, check=True).stdout.split()[1]))
        out = subprocess.run(box(d, tool, 'here', d, '4000'), cwd=d, env=ENV, capture_output=True, text=True, check=True).stdout
        here.append(int(dict(line.split() for line in out.splitlines())['unlink-missing']))
    bare, least, here = (statistics.median(each) / 1e9 for each in (bare, least, here))
    yield 'a call through the gate (a failing unlink), to a notification answered at once', bare, here, 1.45
    yield 'the same, to the least that copies a path, reads where it starts and acts', least, here, 1.25


def row_memory():
    d = fresh('memory')
    child = subprocess.Popen(box(d, 'sleep', '60'), cwd=d, env=ENV, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    total = 0
    try:
        for _ in range(100):
            time.sleep(0.05)
            parents = {int(p): int(q) for p, q in (line.split() for line in subprocess.run(['ps', '-eo', 'pid=,ppid='], capture_output=True, text=True).stdout.splitlines())}
            names = {}
            for pid in parents:
                try:
                    names[pid] = open(f'/proc/{pid}/comm').read().strip()
                except OSError:
                    pass
            kids = [p for p in parents if parents[p] == child.pid]
            proxy = [p for p in kids if names.get(p) == 'cc-proxy']
            init = [p for p in parents if parents[p] in kids and names.get(p) == 'cc-init']
            sleeping = [p for p in parents if parents[p] in init and names.get(p) == 'sleep']
            if proxy and init and sleeping:
                rss = lambda pid: int(re.search(r'VmRSS:\s+(\d+)', open(f'/proc/{pid}/status').read()).group(1))
                total = rss(proxy[0]) + rss(init[0])
                break
    finally:
        child.terminate()
        child.wait()
    return 'resident memory of an idle session (cc-init + cc-proxy), MiB, to 1 MiB', 1.0, total / 1024, 4.0


ROWS = [row_start, row_warm, row_tree, row_globs, row_grep, row_find, row_status, row_npm, row_make, row_small, row_tar, row_rm, row_clone, row_calls, row_memory]


def main():
    wanted = [a for a in sys.argv[2:] if not a.startswith('--')]
    lines, missed = ['| work | plain bubblewrap | ccbox | ratio | bar |', '|---|---|---|---|---|'], 0
    for row in ROWS:
        if wanted and row.__name__[4:] not in wanted:
            continue
        result = row()
        for name, a, b, bar in [result] if isinstance(result, tuple) else result:
            ratio = b / a
            over = bar is not None and ratio > bar
            missed += over
            unit = (lambda v: f'{v:.2f}') if 'MiB' in name else (lambda v: f'{v * 1e6:.1f} us') if a < 1e-3 else (lambda v: f'{v * 1e3:.2f} ms')
            lines.append(f'| {name} | {unit(a)} | {unit(b)} | {ratio:.2f} | {"" if bar is None else f"{bar:.2f}"}{" **missed**" if over else ""} |')
            print(lines[-1], flush=True)
    if os.geteuid() == 0:
        subprocess.run(['umount', SHM], check=False)
    shutil.rmtree(BASE, ignore_errors=True)
    if '--write' in sys.argv:
        page = 'docs/benchmarks.md'
        text = open(page).read()
        text = re.sub(r'(<!-- table -->\n).*?(<!-- end -->)', lambda m: m.group(1) + '\n'.join(lines) + '\n' + m.group(2), text, flags=re.S)
        open(page, 'w').write(text)
    return 1 if missed else 0


sys.exit(main())
