#!/usr/bin/env python3
"""A copy for a run against `git worktree add`, over a repository of 50,000 files. Interleaved rounds, medians, as a table;
exits 1 on a missed bar. usage: copy.py BUILD [ROUNDS] [FILES] [DIR]"""
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

BUILD = os.path.abspath(sys.argv[1])
ROUNDS = int(sys.argv[2]) if len(sys.argv) > 2 else 5
FILES = int(sys.argv[3]) if len(sys.argv) > 3 else 50000
PLACE = sys.argv[4] if len(sys.argv) > 4 else None
BAR = 1.0


def git(where, *words):
    subprocess.run(["git", "-C", where, *words], check=True, stdout=subprocess.DEVNULL)


def make_repository(top):
    os.makedirs(top)
    git(top, "init", "-q")
    git(top, "config", "user.name", "bench")
    git(top, "config", "user.email", "bench@example.test")
    for i in range(FILES):
        directory = os.path.join(top, "d%02d" % (i // 2500), "e%02d" % (i // 50 % 50))
        os.makedirs(directory, exist_ok=True)
        with open(os.path.join(directory, "f%d.c" % i), "w") as out:
            out.write("int f%d(int x)\n{\n\treturn x + %d;\n}\n" % (i, i) * (1 + i % 20))
    git(top, "config", "gc.auto", "0")
    git(top, "add", ".")
    git(top, "commit", "-qm", "base")
    git(top, "gc", "-q")


def timed(*words):
    start = time.monotonic()
    subprocess.run(words, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    return (time.monotonic() - start) * 1e3


def linked(top, at):
    took = timed("git", "-C", top, "worktree", "add", "-q", "--detach", at)
    removal = timed("git", "-C", top, "worktree", "remove", "--force", at)
    return took, removal


def copied(top, runs, work):
    env = dict(os.environ, CCBOX_BENCH_WORK=work)
    out = subprocess.run([os.path.join(BUILD, "bench-copy"), top, runs], check=True, stdout=subprocess.PIPE, env=env)
    words = out.stdout.decode().split()
    return words[0], float(words[2]), float(words[4]), float(words[6])


def main():
    base = tempfile.mkdtemp(prefix="ccbox-bench-", dir=PLACE)
    try:
        top = os.path.join(base, "origin")
        make_repository(top)
        rows = {"add": [], "del": [], "make": [], "settle": [], "work": [], "remove": []}
        for turn in range(ROUNDS):
            # what the one before wrote is not this one's burden, and nobody is always second
            os.sync()
            if turn % 2:
                took, removal = linked(top, os.path.join(base, "linked"))
                os.sync()
            kind, made, settled, removed = copied(top, os.path.join(base, "runs"), ":")
            worked = copied(top, os.path.join(base, "runs"),
                            "for i in 0 1 2 3; do echo x >>d0$i/e00/new.c; done; git add .; git commit -qm x; echo y >>d00/e00/new.c")[2]
            os.sync()
            if turn % 2 == 0:
                took, removal = linked(top, os.path.join(base, "linked"))
            for name, figure in (("make", made), ("settle", settled), ("remove", removed), ("work", worked),
                                 ("add", took), ("del", removal)):
                rows[name].append(figure)
        m = {name: statistics.median(values) for name, values in rows.items()}
        ratio = m["make"] / m["add"]
        print("| copy of %d files (%s) | `git worktree` | ccbox | ratio | bar |" % (FILES, kind))
        print("|---|---|---|---|---|")
        print("| made | %.0f ms | %.0f ms | %.2f | %.2f%s |" % (m["add"], m["make"], ratio, BAR, "" if ratio <= BAR else " **missed**"))
        print("| removed | %.0f ms | %.0f ms | %.2f | |" % (m["del"], m["remove"], m["remove"] / m["del"]))
        print("| settled, nothing done | | %.0f ms | | |" % m["settle"])
        print("| settled, a commit and a change | | %.0f ms | | |" % m["work"])
        return 0 if ratio <= BAR else 1
    finally:
        shutil.rmtree(base)


sys.exit(main())
