#!/usr/bin/env python3
"""Holds docs/cases.md to this very run: every case of the research is a row, and every test that a row names was run.

usage: cases.py docs/cases.md RAN_NAMES      speaks TAP
"""
import fnmatch
import os
import re
import sys

ROWS = ([f'names {i}' for i in range(1, 98)] +
        [f'names+ {word}' for word in ('casefold', 'Yama', 'sticky, ACL, setgid', 'SCM_RIGHTS', 'PATH_MAX', 'ENOSPC', 'RLIMIT_NOFILE',
                                       'stall', 'two sandboxes', 'overlayfs, 9p, NFS', 'gitfile', 'i386', 'pid reuse', 'listener')] +
        [f'attacks {i}' for i in range(1, 22)] + ['attacks D', 'attacks E'] +
        [f'FS-{i:02}' for i in (1, 2, 3, 4, 5, 6, 8, 9, 11, 12, 13, 15, 16, 18, 19, 20, 21, 22, 23, 24, 26, 27, 28, 30, 31, 32, 33, 34,
                                35, 37, 38, 39, 40, 41, 42, 43)] +
        [f'GIT-{i:02}' for i in (1, 2, 4, 5, 6, 7, 8, 9)] + [f'CFG-{i:02}' for i in (1, 2, 4, 5, 6, 7)] +
        [f'SYS-{i:02}' for i in (1, 3, 4, 6, 7, 8, 9, 10, 11, 12)])


def was_run(test, ran, programs):
    if os.getuid() != 0:  # an ordinary user's run has only that half
        test = re.sub(r'^([\w-]+?)-user(:|$)', r'\1\2', test.replace('integration-root-', 'integration-user-'))
        if test.startswith('twin-'):
            return True
    return test in ran or test in programs or ('*' in test and any(fnmatch.fnmatchcase(name, test) for name in ran))


def main():
    page, names = sys.argv[1], sys.argv[2]
    with open(names, encoding='utf-8') as file:
        ran = set(line.strip() for line in file)
    programs = set(name.split(': ')[0] for name in ran)
    wrong, seen = [], []
    with open(page, encoding='utf-8') as file:
        lines = file.read().splitlines()
    for raw in lines:
        cells = [cell.strip() for cell in re.split(r'(?<!\\)\|', raw.strip()[1:-1])]
        if len(cells) != 3 or cells[0] not in ROWS:
            continue
        row, _, tests = cells
        seen.append(row)
        wanted = [name.replace('\\|', '|') for name in re.findall(r'`([^`]+)`', tests)]
        if not wanted and 'not ' not in tests:
            wrong.append(f'row {row} names no test and does not say why')
        wrong += [f'row {row}: the test "{test}" did not run' for test in wanted if not was_run(test, ran, programs)]
    wrong += [f'row {row} is missing' for row in ROWS if row not in seen]
    print('TAP version 13')
    print('not ok 1 - docs/cases.md is true of this run' if wrong else 'ok 1 - docs/cases.md is true of this run')
    for line in wrong:
        print('#', line)
    print('1..1')
    return 1 if wrong else 0


sys.exit(main())
