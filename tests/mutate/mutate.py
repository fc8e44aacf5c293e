#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""mutate.py - changes one decision of the sources at a time, in a copy, and requires that a test fails.

The files that decide are in targets.tsv, with the tests that guard each. A decision is a condition, a comparison, a
cause of refusal or a right on one line; what is done to it is an operator (see OPERATORS). Whether memory was allocated,
and whether to write to the log, are none. A mutant that builds and
that no test kills has survived: either a test is missing, or the change makes no difference. The latter are listed
in equivalent.tsv, each with the reason; a line there that matches no mutant is an error, too.

Exit status 0 only if every mutant tried was killed.
"""
import argparse
import hashlib
import os
import re
import resource
import shutil
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent.parent
SKIP = re.compile(r'^\s*(assert|static_assert|CHECK|for|while|switch|case|say|EMU_WARN|nic_log|#|\*|/\*|}(?! else if))')
ALLOCATES = re.compile(r'\b(calloc|malloc|realloc|strdup|huge_zalloc)\(')
LOGS = re.compile(r'^\s*(EMU_WARN|nic_log)\(')
# -w: a changed condition may well be one that the compiler warns of. The rest: what reads behind an array by one ends the
# program, as it does under the sanitizers.
FLAGS = '-w -fsanitize=bounds -fsanitize-undefined-trap-on-error'
# Hang guards: a mutant may well loop for ever. Most of those spin: no process of a test takes that much CPU time.
BUILD_SECONDS, TEST_SECONDS, CPU_SECONDS = 600, 900, 60
# The tests of mutants are to fail: their results are none of the caller's, nor are the caller's settings theirs.
CLEAN = {name: value for name, value in os.environ.items() if not name.startswith(('EMU_', 'FI_'))}
CLEAN['CRITERION_FAIL_FAST'] = '1'


def each(pattern, replacement, not_in=r'$^'):
    """An operator that replaces one match of the pattern at a time, but not in a line that holds `not_in`."""
    compiled = re.compile(pattern)

    def apply(code):
        if re.search(not_in, code):
            return
        for match in compiled.finditer(code):
            yield code[:match.start()] + match.expand(replacement) + code[match.end():]
    return apply


def unless_guarded(code):
    """An `if` that never holds: the check is gone."""
    match = re.match(r'^(\s*(?:\} else )?if \()(.*)\)( \{)?$', code)
    if match and code.count('(') == code.count(')'):
        yield f'{match[1]}0 && ({match[2]})){match[3] or ""}'


# The smaller or the larger of two: which of two equals is taken makes no difference.
CHOICE = r'= [^?]* [<>]=? [^?]* \? '

OPERATORS = {
    'drop-check': unless_guarded,
    'drop-cause': each(r'\bREFUSAL_(?!NONE\b|VIRTUAL\b|BEFORE\b|GAP\b|WIRE_MAX\b)[A-Z_]+\b(?=;)', 'REFUSAL_NONE'),
    'bound': each(r' (<|>) (?!=)', r' \1= ', CHOICE),
    'strict-bound': each(r' (<|>)= ', r' \1 ', CHOICE),
    'equal': each(r' == ', ' != '),
    'unequal': each(r' != ', ' == '),
    'and': each(r' && ', ' || '),
    'or': each(r' \|\| ', ' && '),
    'right': each(r'\bMR_REMOTE_WRITE\b', 'MR_REMOTE_READ'),
    'other-right': each(r'\bMR_REMOTE_READ\b', 'MR_REMOTE_WRITE'),
}


class Mutant:
    def __init__(self, path, number, operator, before, after, guards):
        self.path, self.number, self.operator = path, number, operator
        self.before, self.after, self.guards = before, after, guards

    def key(self):
        return self.path, self.operator, self.after.strip()

    def __str__(self):
        return f'{self.path}:{self.number} {self.operator}: {self.before.strip()}  ->  {self.after.strip()}'


def limit_cpu():
    resource.setrlimit(resource.RLIMIT_CPU, (CPU_SECONDS, CPU_SECONDS))


def rows(name):
    for line in (HERE / name).read_text().splitlines():
        if line and not line.startswith('#'):
            yield line.split('\t')


def code_of(line):
    """The line without its comment and strings, or None where there is nothing to decide."""
    code = re.sub(r'\s*/\*.*', '', line)
    if not code.startswith('\t') or SKIP.match(code) or '"' in code:
        return None
    return code


def decides_nothing(before, code, after):
    """The line after an allocation (blank lines aside), which does not fail in a test, or a condition on which nothing but
    a log line hangs."""
    return (ALLOCATES.search(before) and re.match(r'\s*if \(!\w', code)) or \
        (re.match(r'\s*(else )?if \([^()]*\)$', code) and LOGS.match(after))


def mutants_of(path, guards):
    lines = (ROOT / path).read_text().splitlines()
    before = ''
    for number, line in enumerate(lines, 1):
        code = code_of(line)
        skip = code is None or decides_nothing(before, code, lines[number] if number < len(lines) else '')
        before = line.strip() or before
        if skip:
            continue
        for name, operator in OPERATORS.items():
            for after in operator(code):
                yield Mutant(path, number, name, code, after, guards)


def all_mutants():
    found = [m for path, guards in rows('targets.tsv') for m in mutants_of(path, guards.split(','))]
    equivalent = {tuple(row[:3]): row[3] for row in rows('equivalent.tsv')}
    unused = set(equivalent) - {m.key() for m in found}
    if unused:
        sys.exit('equivalent.tsv names what is not there:\n' + '\n'.join('\t'.join(key) for key in sorted(unused)))
    return [m for m in found if m.key() not in equivalent], len(equivalent)


def tree_files():
    """Those of a clone that are not ignored; of a tree that is none, all but what was built."""
    if (ROOT / '.git').exists():
        listed = subprocess.run(['git', '-C', ROOT, 'ls-files', '-co', '--exclude-standard'], check=True,
                                capture_output=True, text=True)
        return listed.stdout.splitlines()
    paths = [path.relative_to(ROOT) for path in ROOT.rglob('*')]
    return [path for path in paths if path.parts[0] != 'build']


class Copy:
    """A copy of the sources with a build of its own, in which one mutant at a time lives. What no guard needs is not built."""

    def __init__(self, folder, jobs):
        self.folder, self.jobs = folder, jobs
        for name in tree_files():
            if (ROOT / name).is_file():
                (folder / name).parent.mkdir(parents=True, exist_ok=True)
                shutil.copy2(ROOT / name, folder / name)
        if (ROOT / 'build/deps').exists():
            (folder / 'build').mkdir(exist_ok=True)
            (folder / 'build/deps').symlink_to((ROOT / 'build/deps').resolve())
        self.run(['cmake', '--preset', 'dev', f'-DCMAKE_C_FLAGS={FLAGS}', '-DCMAKE_C_FLAGS_DEBUG=-O1'], BUILD_SECONDS,
                 check=True)
        built = self.run(['cmake', '--build', '--preset', 'dev', '-t', 'help'], BUILD_SECONDS, check=True)[1]
        self.programs = set(re.findall(r'^(\S+): phony', built, re.M))
        self.needs = {}
        self.sound = set()  # guards that pass without any mutant

    def run(self, command, seconds, check=False):
        """Exit status; 124 where it hung."""
        try:
            done = subprocess.run(command, cwd=self.folder, timeout=seconds, env=CLEAN, preexec_fn=limit_cpu,
                                  capture_output=True, text=True)
        except subprocess.TimeoutExpired:
            return 124, ''
        if check and done.returncode:
            sys.exit(f'{" ".join(map(str, command))}:\n{done.stdout}{done.stderr}')
        return done.returncode, done.stdout

    def build(self, targets, check=False):
        return self.run(['cmake', '--build', '--preset', 'dev', '-j', str(self.jobs), '-t', *targets], BUILD_SECONDS,
                        check)[0] == 0

    def targets(self, guard):
        """What the tests of a guard need: mostly a program of the test's name, most beside the provider."""
        if guard not in self.needs:
            listed = self.run(['ctest', '--test-dir', 'build/dev', '-N', '-R', guard], BUILD_SECONDS, check=True)[1]
            names = set(re.findall(r'^ +Test +#\d+: (\S+)', listed, re.M))
            if not names:
                sys.exit(f'targets.tsv: there is no test {guard}')
            named = {'emu_rules' if name.startswith('rules-') else name for name in names}
            provider = set() if all(name.startswith(('unit_', 'sim_')) for name in named) else {'emu-fi'}
            self.needs[guard] = sorted(named | provider) if named <= self.programs else ['all']
        return self.needs[guard]

    def failure(self, guard):
        """The name of the guard's first test that fails, or None; False where the mutant does not build."""
        if not self.build(self.targets(guard)):
            return False
        status, out = self.run(['ctest', '--test-dir', 'build/dev', '-R', guard, '--stop-on-failure',
                                '--no-tests=error'], TEST_SECONDS)
        if not status:
            return None
        named = re.search(r'^\s*\d+ - (\S+)', out, re.M)
        return named[1] if named else f'{guard} (hung)'

    def killer(self, guards):
        """The first guard that fails, and its test."""
        for guard in guards:
            test = self.failure(guard)
            if test is not None:
                return guard, test
        return None, None

    def judge(self, mutant):
        """How the mutant ended: (killed, by what)."""
        self.build(self.targets(mutant.guards[0]), check=True)  # without it, all builds
        path = self.folder / mutant.path
        original = path.read_text()
        lines = original.splitlines(keepends=True)
        lines[mutant.number - 1] = mutant.after + '\n'
        path.write_text(''.join(lines))
        try:
            guard, test = self.killer(mutant.guards)
        finally:
            path.write_text(original)
        if test is False:
            return None, 'does not build'
        if test and guard not in self.sound:
            if self.failure(guard) is not None:
                sys.exit(f'{guard} fails without any mutant')
            self.sound.add(guard)
        return test is not None, test


def drawn(seed, mutant):
    """Where the seed puts it, whatever other mutants there are: a change elsewhere draws no others."""
    return hashlib.sha256(' '.join((str(seed), *mutant.key())).encode()).digest()


def options():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('--list', action='store_true', help='print the mutants and stop')
    parser.add_argument('--sample', type=int, metavar='N', help='try N of them, drawn by --seed')
    parser.add_argument('--seed', type=int, default=1)
    parser.add_argument('--match', default='', metavar='TEXT', help='only those whose description holds TEXT')
    parser.add_argument('--jobs', type=int, default=os.cpu_count(), help='copies at work at the same time')
    return parser.parse_args()


def work(folder, jobs, queue, survivors, counts):
    copy = Copy(folder, jobs)
    while queue:
        try:
            mutant = queue.pop()
        except IndexError:
            return
        killed, by = copy.judge(mutant)
        if killed is None:
            counts['unbuilt'] += 1
            continue
        counts['tried'] += 1
        print(f'{"ok" if killed else "not ok"} {mutant}  [{by or "no test fails"}]', flush=True)
        if not killed:
            survivors.append(mutant)


def main():
    chosen = options()
    mutants, equivalent = all_mutants()
    mutants = [m for m in mutants if chosen.match in str(m)]
    if chosen.sample is not None:
        mutants = sorted(mutants, key=lambda m: drawn(chosen.seed, m))[:chosen.sample]
    if chosen.list:
        print('\n'.join(map(str, mutants)))
        return 0
    survivors, counts, queue = [], {'tried': 0, 'unbuilt': 0}, list(mutants)
    with tempfile.TemporaryDirectory(prefix='emu-mutate.') as scratch, ThreadPoolExecutor(chosen.jobs) as pool:
        jobs = max(1, os.cpu_count() // chosen.jobs)
        for job in [pool.submit(work, Path(scratch) / str(n), jobs, queue, survivors, counts) for n in range(chosen.jobs)]:
            job.result()
    print(f'# {counts["tried"]} mutants tried, {len(survivors)} survived; {counts["unbuilt"]} do not build, '
          f'{equivalent} are known to change nothing')
    return 1 if survivors or not counts['tried'] else 0


if __name__ == '__main__':
    sys.exit(main())
