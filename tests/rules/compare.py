#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""compare.py - runs emu_rules against several providers and prints COMPARED.md: compare.py KIT [PROVIDER...]

KIT is the program emu_rules; without providers: emu tcp sockets shm. The running libfabric is LD_LIBRARY_PATH's.
What `emu_rules -p PROVIDER --json` once printed can be given as PROVIDER=FILE. Takes some ten minutes.
"""
import argparse
import json
import re
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
HEAD = """# The rules, held against {count} providers

Made by `tests/rules/compare.py` with libfabric {libfabric}, API {api}, each provider in its default settings (`emu`:
personality `strict`). A rule is `pass` if every test that cites it passed, `FAIL` if none did that had something to say,
`FAIL in part` between; `-` means that no test applies: the provider does not offer what the rule is about. Failures
include crashes and hangs. The other providers make no promise beyond what fi_mr(3) asks of every provider; their table
shows which programs' mistakes pass unnoticed with them.
"""
GOOD = ('pass', 'refused as permitted')


def titles():
    text = (HERE / 'harness' / 'rule_table.c').read_text()
    return {f'S{number}': title for number, title in re.findall(r'\[(\d+)\] = \{ \w+, "(.*)" \}', text)}


def results(kit, name):
    name, _, path = name.partition('=')
    if path:
        text = Path(path).read_text()
    else:
        done = subprocess.run([kit, '-p', name, '--timeout', '60', '--json'], capture_output=True, text=True)
        text = done.stdout
        if not text:
            sys.exit(f'emu_rules -p {name}: {done.stderr}')
    return name, json.loads(text)


def verdict(tests, rule):
    outcomes = [t['outcome'] for t in tests if rule in t['rules'] and t['outcome'] != 'not applicable']
    if not outcomes:
        return '-'
    failed = sum(outcome not in GOOD for outcome in outcomes)
    return 'pass' if not failed else 'FAIL' if failed == len(outcomes) else 'FAIL in part'


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('kit')
    parser.add_argument('providers', nargs='*', default=['emu', 'tcp', 'sockets', 'shm'])
    chosen = parser.parse_args()
    names = chosen.providers
    columns = [results(chosen.kit, name) for name in names]
    first = columns[0][1]
    words = {2: 'two', 3: 'three', 4: 'four'}
    print(HEAD.format(count=words.get(len(columns), len(columns)), libfabric=first['libfabric'], api=first['api']))
    print('| tests | ' + ' | '.join(name for name, _ in columns) + ' |')
    print('|--|' + '--|' * len(columns))
    for total in first['totals']:
        print(f'| {total} | ' + ' | '.join(str(found['totals'][total]) for _, found in columns) + ' |')
    print('\n| rule | | ' + ' | '.join(name for name, _ in columns) + ' |')
    print('|--|--|' + '--|' * len(columns))
    cited = {rule for _, found in columns for test in found['tests'] for rule in test['rules']}
    for rule, title in titles().items():
        if rule in cited:
            print(f'| {rule} | {title} | ' + ' | '.join(verdict(found['tests'], rule) for _, found in columns) + ' |')


if __name__ == '__main__':
    main()
