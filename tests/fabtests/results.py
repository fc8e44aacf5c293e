#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""results.py - runs whole lists of libfabric's own tests and writes RESULTS.md: results.py BUILD [COLUMN.LIST...]

BUILD is a folder of this tree's build with emu. A column is emu-lax, emu-strict, tcp or sockets; a list unit, functional,
short, standard, complex or multinode. Named ones are run, one at a time; none named: all of them, which takes hours. What
each run says is kept in BUILD/fabtests; what is not there stays as it is in RESULTS.md.
"""
import argparse
import os
import re
import subprocess
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent.parent
COLUMNS = {'emu-lax': ('emu', 'lax'), 'emu-strict': ('emu', 'strict'), 'tcp': ('tcp', '-'), 'sockets': ('sockets', '-')}
LISTS = ('unit', 'functional', 'short', 'standard', 'complex', 'multinode')
HOURS = 4 * 3600	# a hang guard for a list
COUNTS = re.compile(r'^# passed (\d+), failed (\d+), not run (\d+), excluded (\d+)$', re.M)
HEAD = """# libfabric's own tests, with emu and others

Made by `tests/fabtests/results.py`, with libfabric {version}, its fabtests of the same version, and two processes or more on
one machine. In each cell: tests that passed / failed / were not run as the provider does not offer what they ask / were
excluded. Of emu what is not offered counts as failed, unless an exclusion gives the reason; the other providers have no
exclusions. Of the list complex, which is one program (`fi_ubertest`), the configurations of emu.test are counted; other
providers hang in some, which `walk.py` counts as failed. Any other test that has not ended after 100 s counts as failed, which
is most of `standard` over sockets: its threads and the tests' wait awake, four on two cores. A test that leaves its server behind
may fail those after it.
"""


def ask(function):
    script = f'. {ROOT}/tools/lib.sh; {function}'
    return subprocess.run(['bash', '-c', script], capture_output=True, text=True, check=True).stdout.strip()


def version(lib):
    told = subprocess.run([ask('new_libfabric_prefix') + '/bin/fi_info', '--version'], capture_output=True, text=True,
                          env={**os.environ, 'LD_LIBRARY_PATH': lib}).stdout
    return re.search(r'^libfabric: (\S+)', told, re.M)[1]


def run(build, name, lib):
    column, tests = name.split('.')
    provider, personality = COLUMNS[column]
    env = {**os.environ, 'EMU_TEST_PROVIDER': provider, 'LD_LIBRARY_PATH': lib}
    command = [str(ROOT / 'tests/runner.sh'), str(build), str(HOURS), name, 'script', str(HERE / 'run.sh'), personality, tests]
    done = subprocess.run(command, capture_output=True, text=True, errors='replace', env=env)
    (build / 'fabtests' / name).write_text(done.stdout + done.stderr)
    print(name, ' '.join(COUNTS.findall(done.stdout)[-1]) if COUNTS.search(done.stdout) else 'has not ended', flush=True)


def before():
    """RESULTS.md as it is: its cells by name, and its lists of exclusions by column."""
    text = (HERE / 'RESULTS.md').read_text() if (HERE / 'RESULTS.md').exists() else ''
    rows = [[field.strip() for field in line.strip('|').split('|')] for line in text.split('\n') if line.startswith('| ')]
    cells = {f'{column}.{row[0]}': field for row in rows for column, field in zip(COLUMNS, row[1:])}
    lists = re.findall(r'^Excluded with (\S+):\n\n((?:- .*\n)*)', text, re.M)
    return cells, {column: told.splitlines() for column, told in lists}


def cell(build, name, cells):
    path = build / 'fabtests' / name
    found = COUNTS.findall(path.read_text()) if path.exists() else []
    return ' / '.join(found[-1]) if found else cells.get(name, '')


def exclusions(build, column, lists):
    """What is excluded for which reason: as it was, unless each list has been run."""
    paths = [build / 'fabtests' / f'{column}.{name}' for name in LISTS]
    if not all(path.exists() for path in paths) and column in lists:
        return lists[column]
    found = {}
    for path in filter(Path.exists, paths):
        for line in set(path.read_text().split('\n')):
            told = re.match(r'skip (\d+) tests: (.*)', line)
            if told:
                found[told[2]] = found.get(told[2], 0) + int(told[1])
    return [f'- {count}: {reason}' for reason, count in sorted(found.items())] or ['- none']


def tell(build, lib):
    cells, lists = before()
    lines = [HEAD.format(version=version(lib)), '| list | ' + ' | '.join(COLUMNS) + ' |', '|--|' + '--|' * len(COLUMNS)]
    for name in LISTS:
        lines.append(f'| {name} | ' + ' | '.join(cell(build, f'{column}.{name}', cells) for column in COLUMNS) + ' |')
    for column in ('emu-lax', 'emu-strict'):
        lines += ['', f'Excluded with {column}:', '', *exclusions(build, column, lists)]
    (HERE / 'RESULTS.md').write_text('\n'.join(lines) + '\n')


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('build', type=Path)
    parser.add_argument('names', nargs='*', metavar='COLUMN.LIST')
    chosen = parser.parse_args()
    build, lib = chosen.build.resolve(), ask('new_libfabric_lib')
    names = chosen.names or [f'{column}.{name}' for name in LISTS for column in COLUMNS]
    (build / 'fabtests').mkdir(exist_ok=True)
    for name in names:
        run(build, name, lib)
        tell(build, lib)


main()
