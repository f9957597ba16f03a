#!/usr/bin/env python3
"""ccbox beside other sandboxes that know rules about names, in the same interleaved rounds: does a name that is not there yet stay
absent, what does a start cost, what do 5,000 small files cost. Each to plain bubblewrap. By hand; prints a table.

usage: peers.py BUILD      CCBOX_SRT: the directory of srt's npm package; firejail from PATH; what is absent is left out
"""
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

BUILD = os.path.abspath(sys.argv[1])
BASE = tempfile.mkdtemp(prefix='ccbox-peers.', dir='/var/tmp')
SRT = os.environ.get('CCBOX_SRT', '/var/tmp/ccbox-bench-srt/node_modules/@anthropic-ai/sandbox-runtime')
TREE = os.path.join(BASE, 'tree')
HOME = os.path.join(BASE, 'home')
ENV = {**os.environ, 'HOME': HOME, 'XDG_STATE_HOME': os.path.join(BASE, 'state'), 'GIT_CONFIG_NOSYSTEM': '1'}
GLOBS = ['**/*.pem', '**/*.key', '**/.env']


def srt(command):
    settings = os.path.join(BASE, 'srt.json')
    with open(settings, 'w') as out:
        json.dump({'network': {'allowedDomains': [], 'deniedDomains': []},
                   'filesystem': {'denyRead': [], 'allowWrite': [TREE], 'denyWrite': [f'{TREE}/{g}' for g in GLOBS]}}, out)
    return ['node', f'{SRT}/dist/cli.js', '--settings', settings, '-c', command]


def firejail(command):
    rules = [f'--read-only={TREE}/{g}' for g in GLOBS]
    return ['firejail', '--quiet', '--noprofile', *rules, '--', 'sh', '-c', command]


SANDBOXES = {
    'plain bubblewrap': lambda command: ['bwrap', '--unshare-all', '--ro-bind', '/', '/', '--dev', '/dev', '--proc', '/proc', '--tmpfs', '/tmp',
                                         '--bind', TREE, TREE, '--chdir', TREE, '--', 'sh', '-c', command],
    'ccbox': lambda command: [f'{BUILD}/ccbox', 'run', '--quiet', '--no-pty', '--bind', TREE, '--workdir', TREE, '--', 'sh', '-c', command],
}
if os.path.isdir(SRT):
    SANDBOXES[f"srt {json.load(open(f'{SRT}/package.json'))['version']}"] = srt
if shutil.which('firejail'):
    version = subprocess.run(['firejail', '--version'], capture_output=True, text=True).stdout.split()[2]
    SANDBOXES[f'firejail {version}'] = firejail

SMALL = ("/usr/bin/python3 -c 'import os\nfor i in range(5000):\n f=os.open(\"f%d\"%i,os.O_WRONLY|os.O_CREAT,0o644);"
         "os.write(f,b\"x\"*200);os.close(f)'")


def fresh():
    shutil.rmtree(TREE, ignore_errors=True)
    os.makedirs(TREE)


def run(argv):
    start = time.perf_counter()
    done = subprocess.run(argv, cwd=TREE, env=ENV, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
    return time.perf_counter() - start, done


def holds(make):
    fresh()
    run(make('mkdir -p a/b; echo x >new.pem; echo x >a/b/id.key; echo x >tmp; mv tmp .env; ln -s t late.pem; true'))
    return sum(os.path.lexists(os.path.join(TREE, p)) for p in ('new.pem', 'a/b/id.key', '.env', 'late.pem'))


def main():
    os.makedirs(HOME)
    fresh()
    took = {name: ([], []) for name in SANDBOXES}
    for _ in range(7):
        for name, make in SANDBOXES.items():
            for kind, command in enumerate(('true', SMALL)):
                fresh()
                seconds, done = run(make(command))
                if done.returncode != 0:
                    sys.exit(f'{name}: {done.stderr.decode()[-400:]}')
                took[name][kind].append(seconds)
    medians = {name: [statistics.median(v) for v in both] for name, both in took.items()}
    base = medians['plain bubblewrap']
    print('| sandbox | forbidden names made, of 4 | start | to bubblewrap | 5,000 small files, start included | to bubblewrap |\n|---|---|---|---|---|---|')
    for name, make in SANDBOXES.items():
        start, small = medians[name]
        print(f'| {name} | {holds(make)} | {start * 1e3:.0f} ms | {start / base[0]:.1f} | {small * 1e3:.0f} ms | {small / base[1]:.2f} |')
    shutil.rmtree(BASE, ignore_errors=True)


main()
