#!/usr/bin/env python3
"""Counts what was really run: reads the TAP that every test spoke (meson's testlog.json), prints failures, holds the
skipped tests to tests/skips.txt and writes the names of all tests that ran, for the contract check.

usage: tally.py NAMES_OUT TESTLOG...      last line: "N passed, N failed, N skipped"
"""
import fnmatch
import json
import re
import sys

LINE = re.compile(r'^(not ok|ok)\b\s*(\d+)?\s*(?:-\s+)?(.*?)\s*$')
SKIP = re.compile(r'#\s*skip\b:?\s*(.*)$', re.I)


def rows(entry):
    """(name, result, reason) of every subtest of one test program."""
    seen = []
    for line in (entry.get('stdout') or '').splitlines():
        match = LINE.match(line)
        if not match:
            continue
        text = match.group(3)
        skip = SKIP.search(text)
        name = SKIP.sub('', text).strip() or match.group(2) or '?'
        result = 'failed' if match.group(1) == 'not ok' else 'skipped' if skip else 'passed'
        seen.append((name, result, skip.group(1).strip() if skip else ''))
    wrong = entry.get('result') not in ('OK', 'SKIP')
    if not seen:
        result = 'failed' if wrong else 'skipped' if entry.get('result') == 'SKIP' else 'passed'
        seen.append(('(whole program)', result, 'the program skipped itself'))
    elif wrong and not any(r == 'failed' for _, r, _ in seen):
        seen.append(('(ends well)', 'failed', ''))
    return seen


def main():
    names_out, logs = sys.argv[1], sys.argv[2:]
    counts = {'passed': 0, 'failed': 0, 'skipped': 0}
    ran, skipped = [], []
    for log in logs:
        for raw in open(log, encoding='utf-8', errors='replace'):
            if not raw.strip():
                continue
            entry = json.loads(raw)
            program = entry['name'].split(' / ')[-1].split(':')[-1]
            failed = False
            for name, result, reason in rows(entry):
                counts[result] += 1
                full = f'{program}: {name}'
                if result == 'skipped':
                    skipped.append((full, reason))
                else:
                    ran.append(full)
                if result == 'failed':
                    failed = True
                    print(f'FAILED {full}')
            if failed:
                text = (entry.get('stdout') or '') + (entry.get('stderr') or '')
                print('\n'.join('    ' + line for line in text.splitlines()[-60:]))
    with open(names_out, 'w', encoding='utf-8') as out:
        out.write('\n'.join(ran) + '\n')
    expected = {}
    for raw in open('tests/skips.txt', encoding='utf-8'):
        raw = raw.rstrip('\n')
        if raw and not raw.startswith('#'):
            name, _, why = raw.partition(' | ')
            expected[name.strip()] = why.strip()
    for name, reason in skipped:
        if name not in expected and not any('*' in known and fnmatch.fnmatchcase(name, known) for known in expected):
            counts['failed'] += 1
            print(f'FAILED skipped without leave: {name} ({reason})')
    print(f"{counts['passed']} passed, {counts['failed']} failed, {counts['skipped']} skipped")
    return 1 if counts['failed'] else 0


sys.exit(main())
