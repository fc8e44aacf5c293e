#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""figures.py - README.md and emu/USING.md have the figures of tests/rules/COMPARED.md, and that has what emu_rules prints of emu:

    figures.py [--write | --count] KIT

KIT is the program emu_rules. --count runs none of its tests, and holds their number against COMPARED.md alone. --write puts
COMPARED.md's figures into the other two; compare.py makes COMPARED.md. In the environment of runner.sh."""
import json
import re
import subprocess
import sys
from pathlib import Path

TOP = Path(__file__).resolve().parents[2]
COMPARED, USING, README = TOP / 'tests/rules/COMPARED.md', TOP / 'emu/USING.md', TOP / 'README.md'
ROW = re.compile(r'^\| (?P<total>pass|refused as permitted|FAIL|not applicable) \| (?P<figures>[\d |]+) \|$', re.M)
SENTENCE = re.compile(r'of (\d+) tests emu passes (\d+), and other providers of\s+libfabric fail (\d+) to (\d+)')
TABLE = re.compile(r'(?<=\| tests passed \| )[\d |]+(?= \|)')


def compared():
    """The totals by name, a figure for each provider, of which emu is the first."""
    return {row['total']: [int(figure) for figure in row['figures'].split('|')] for row in ROW.finditer(COMPARED.read_text())}


def sentence(totals):
    """The four figures of README.md."""
    failed = totals['FAIL'][1:]
    return sum(column[0] for column in totals.values()), totals['pass'][0], min(failed), max(failed)


def write(totals):
    figures = sentence(totals)
    text = README.read_text()
    match = SENTENCE.search(text)
    words = re.sub(r'\d+', lambda _, left=iter(figures): str(next(left)), match[0])
    README.write_text(text[:match.start()] + words + text[match.end():])
    USING.write_text(TABLE.sub(' | '.join(map(str, totals['pass'])), USING.read_text()))


def verdict(name, shown, true):
    same = shown == true
    print(f'ok {name}' if same else f'not ok {name} it says {shown}, and it is {true}', flush=True)
    return same


def ran(kit):
    """The totals of emu, as COMPARED.md has them."""
    return json.loads(subprocess.run([kit, '-p', 'emu', '--json'], stdout=subprocess.PIPE, check=False).stdout)['totals']


def listed(kit):
    """How many tests there are: one is listed below each of its rules."""
    lines = subprocess.run([kit, '--list'], stdout=subprocess.PIPE, check=True, text=True).stdout.splitlines()
    return len({line for line in lines if line.startswith(' ')})


def main(words):
    if words in (['--help'], ['-h']):
        print(__doc__)
        return 0
    options = ('--write', '--count')
    unknown = [word for word in words if word.startswith('-') and word not in options]
    if unknown or not 1 <= len(words) <= 2 or words[:-1] not in ([], *([option] for option in options)) or words[-1] in options:
        print(f'figures.py: unknown option {unknown[0]}' if unknown else 'usage: figures.py [--write | --count] KIT', file=sys.stderr)
        return 2
    totals = compared()
    if words[0] == '--write':
        write(totals)
    shown = SENTENCE.search(README.read_text())
    good = verdict('README', tuple(map(int, shown.groups())) if shown else None, sentence(totals))
    shown = TABLE.search(USING.read_text())
    good &= verdict('USING', [int(figure) for figure in shown[0].split('|')] if shown else None, totals['pass'])
    own = {name: column[0] for name, column in totals.items()}
    if words[0] == '--count':
        good &= verdict('tests', sum(own.values()), listed(words[-1]))
    else:
        good &= verdict('COMPARED', own, ran(words[-1]))
    return 0 if good else 1


if __name__ == '__main__':
    sys.exit(main(sys.argv[1:]))
