#!/usr/bin/env python3
"""Holds docs/contract.md to the tree and to this very run: every row of the contract is there, every file it names exists
and every test it names was run (not skipped).

usage: contract.py docs/contract.md RAN_NAMES      speaks TAP
"""
import os
import re
import sys

ROWS = ([f'1.{i}' for i in range(1, 9)] + [f'2.{i}' for i in range(1, 9)] + [f'3.{i}' for i in range(1, 7)] +
        [f'4.{i}' for i in range(1, 9)] + ['5'] + [f'6.{i}' for i in range(1, 10)] + [f'7.{i}' for i in range(1, 6)] + ['8'])


def main():
    page, names = sys.argv[1], sys.argv[2]
    ran = set(line.strip() for line in open(names, encoding='utf-8'))
    programs = set(name.split(': ')[0] for name in ran)
    wrong, seen = [], []
    for raw in open(page, encoding='utf-8'):
        cells = [cell.strip() for cell in raw.strip().strip('|').split('|')]
        if len(cells) != 4 or not re.fullmatch(r'\d(\.\d+)?', cells[0]):
            continue
        row, _, sources, tests = cells
        seen.append(row)
        later = re.search(r'not yet: issue \d+', sources + tests)
        files = re.findall(r'`([^`]+)`', sources)
        wanted = re.findall(r'`([^`]+)`', tests)
        if not later and not (files and wanted):
            wrong.append(f'row {row} names no source or no test and no issue that will')
        for path in files:
            if not os.path.exists(path):
                wrong.append(f'row {row}: {path} does not exist')
        for test in wanted:
            if os.getuid() != 0:  # an ordinary user's run has only that half
                test = re.sub(r'^(attack-\w+)-user$', r'\1', test.replace('integration-root-', 'integration-user-'))
            if test not in ran and test not in programs:
                wrong.append(f'row {row}: the test "{test}" did not run')
    for row in ROWS:
        if row not in seen:
            wrong.append(f'row {row} of the contract is missing')
    print('TAP version 13')
    print('not ok 1 - docs/contract.md is true of this run' if wrong else 'ok 1 - docs/contract.md is true of this run')
    for line in wrong:
        print('#', line)
    print('1..1')
    return 1 if wrong else 0


sys.exit(main())
