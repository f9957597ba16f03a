#!/usr/bin/env python3
"""The same sequence of file operations in plain bubblewrap and under the gate: every result and both trees are equal, but
for the rows of docs/decisions/errno.md. Speaks TAP.
usage: compare.py DRIVER INIT TWIN PROGRAM ERRNO.MD SEED OPERATIONS [full]
SEED: a number, or "random". full: every call in every form at least 100 times, and every row of errno.md is met."""
import os
import random
import re
import subprocess
import sys
from itertools import zip_longest

SHOWN = 25
NODES = ("null", "zero", "full", "random", "urandom", "tty")
STATE = ("umask", "chdir", "write")  # what only makes the others differ


def read_rows(path):
    """| tag | without | with | reason |: results as regular expressions."""
    out = []
    with open(path, encoding="utf-8") as file:
        for line in file:
            cells = [cell.replace("\\|", "|").strip().strip("`") for cell in re.split(r"(?<!\\)\|", line.strip()[1:-1])]
            if line.startswith("| `") and len(cells) == 4:
                out.append({"tag": cells[0], "native": cells[1], "gate": cells[2], "met": 0})
    return out


def run(driver, *arguments):
    """The program's own lines, and what the driver found wrong afterwards."""
    done = subprocess.run([driver, *arguments], stdout=subprocess.PIPE, check=False)
    lines = done.stdout.decode("utf-8", "replace").splitlines()
    return [line[2:] for line in lines if line.startswith("# =")], [line for line in lines if line.startswith(("not ok", "Bail"))]


def expected(native, gate, rows):
    head, _, was = native.partition(" -> ")
    other, _, now = gate.partition(" -> ")
    tag = re.search(r"\[(.*?)\]", head)
    if head.split(" | ")[0] != other.split(" | ")[0] or not tag:
        return False
    for row in rows:
        if row["tag"] == tag.group(1) and re.fullmatch(row["native"], was) and re.fullmatch(row["gate"], now):
            row["met"] += 1
            return True
    return False


def stat_of(name):
    """A device of the host is bound into both runs, so no operation may name one but to open it."""
    st = os.stat("/dev/" + name)
    return st.st_mode, st.st_uid, st.st_gid


def epochs(lines):
    out = [[]]
    for line in lines:
        if line.startswith("=epoch"):
            out.append([])
        out[-1].append(line)
    return out


def differences(native, gate, rows):
    """The first of each epoch: what follows it may only follow from it."""
    out = []
    for was_lines, now_lines in zip_longest(epochs(native), epochs(gate), fillvalue=[]):
        for was, now in zip_longest(was_lines, now_lines, fillvalue="nothing"):
            if was != now and not was.startswith("=coverage") and not expected(was, now, rows):
                out.append((was, now))
                break
    return out


def rarest(lines):
    """How often the rarest pair of a call and a form was made. Calls without a dirfd have no such form."""
    least = 10**9
    for line in lines:
        if line.startswith("=coverage"):
            name, *counts = line.split()[1:]
            print("# coverage", name, *counts)
            if name not in STATE:
                least = min([least] + [int(count) for form, count in enumerate(counts) if form != 2 or count != "0"])
    return least


def main():
    driver, init, twin, program, table, seed, operations = sys.argv[1:8]
    full = "full" in sys.argv[8:]
    seed = str(random.SystemRandom().randrange(1, 10**9)) if seed == "random" else seed
    rows = read_rows(table)
    print(f"# seed {seed}, {operations} operations", flush=True)
    nodes = [stat_of(name) for name in NODES]
    native, _ = run(driver, "--init", twin, "--off", "filter", "--off", "floor", program, seed, operations)
    gate, wrong = run(driver, "--init", init, program, seed, operations)
    found = differences(native, gate, rows)
    least = rarest(native)
    for was, now in found[:SHOWN]:
        print(f"# without: {was}\n# with:    {now}")
    for row in rows:
        print(f"# row {row['tag']}: {row['native']} is {row['gate']} here, {row['met']} times")
    whole = all(lines and lines[-1] == "=end" for lines in (native, gate))
    for line in wrong:
        print(f"# {line}")
    results = [
        (whole, "both runs came to their end"),
        (whole and not found, f"no result and no tree differs (in {len(found)} epochs one does)"),
        (least >= (100 if full else 1), f"every call was made in every form, the rarest {least} times"),
        (not full or all(row["met"] for row in rows), "every row of errno.md was met"),
        (nodes == [stat_of(name) for name in NODES], "the run without the gate left the host's devices alone"),
        (not wrong, "the host finds nothing forbidden afterwards"),
    ]
    for number, (good, label) in enumerate(results, 1):
        print(f"{'ok' if good else 'not ok'} {number} - {label}")
    print(f"1..{len(results)}")


main()
