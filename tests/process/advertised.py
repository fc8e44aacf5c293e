#!/usr/bin/python3
# SPDX-License-Identifier: BSD-2-Clause
"""advertised.py - what libfabric's own fi_info shows of the provider has a name, and a test.

Runs fi_info -v, in both personalities and with the capabilities that only who asks gets, and fails for what libfabric has
no name for, and for whatever is shown that no test is named for:
  a capability FI_X          fi_caps.x in tests/fi/caps.c
  a message order FI_ORDER_X fi_order.x in tests/fi/order.c
  anything else              a line of advertised.tsv
"""
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
SOURCE = HERE.parent.parent
ASKED = 'FI_MSG|FI_SOURCE|FI_SOURCE_ERR|FI_HMEM'
NAME = re.compile(r'[A-Z][A-Z0-9_]*$')
TEST = re.compile(r'^(?:Test|[A-Z]+_TEST)\((?:(\w+), )?(\w+)', re.M)  # those of a file's own are rules
failed = False


def verdict(good, name, reason=''):
    global failed
    failed = failed or not good
    print(f'ok {name}' if good else f'not ok {name} {reason}')


def command():
    """That of the running libfabric, if it is there."""
    beside = Path(os.environ.get('LD_LIBRARY_PATH', '').split(':')[0]).parent / 'bin/fi_info'
    return str(beside) if os.access(beside, os.X_OK) else shutil.which('fi_info')


def run(personality, more):
    run_by = [str(SOURCE / 'tools/emurun')]  # a provider with sanitizers needs it
    return subprocess.run(run_by + [command(), '-v', '-p', 'emu'] + more, check=True, text=True, stdout=subprocess.PIPE,
                          env=dict(os.environ, FI_EMU_PERSONALITY=personality)).stdout


def parse(text):
    """(section, field, value) of each line."""
    section = ''
    for line in text.splitlines():
        field, colon, value = line.strip().partition(':')
        value = value.strip()
        if colon and not value:
            section = field
        elif colon:
            yield 'fi_info' if line.startswith('    ') and not line.startswith('     ') else section, field, value


def unknown(field, value):
    # Since 2.0 libfabric says so of every protocol that is the provider's own (fi_endpoint(3), protocol).
    # The emulated NIC is no PCI device (fi_nic.c).
    if (field, value) in (('protocol', 'Unknown'), ('bus_type', 'FI_BUS_UNKNOWN')):
        return False
    if value.startswith('['):
        return not all(NAME.match(bit) for bit in re.findall(r'[^\[\], ]+', value))
    return bool(re.search('unknown', value, re.I)) or (field in ('caps', 'mode', 'op_flags', 'msg_order', 'mr_mode'))


def shown(section, field, value):
    """What is to have a test."""
    if field in ('caps', 'mode', 'op_flags', 'msg_order', 'mr_mode'):
        return [f'{field} {bit}' for bit in re.findall(r'[^\[\], ]+', value)]
    return [f'{section} {field}']


def table(tests):
    """Test by what it is for."""
    known = {}
    for suite, name in tests:
        if suite == 'fi_caps':
            known[f'caps FI_{name.upper()}'] = f'{suite}.{name}'
        if suite == 'fi_order':
            known[f'msg_order FI_ORDER_{name.upper()}'] = f'{suite}.{name}'
    for line in (HERE / 'advertised.tsv').read_text().splitlines():
        if line and not line.startswith('#'):
            what, test = line.split('\t')
            known[what] = test
    return known


def main():
    tests = {(suite or 'rules', name) for path in SOURCE.glob('tests/*/*.c') for suite, name in TEST.findall(path.read_text())}
    known, needed = table(tests), {}
    if not command():
        print('skip advertised no fi_info on this machine')
        return 77
    for personality in 'strict', 'lax':
        for more in [], ['-c', ASKED]:
            strange = []
            for section, field, value in parse(run(personality, more)):
                if unknown(field, value):
                    strange.append(f'{field}: {value}')
                for what in shown(section, field, value):
                    needed[what] = True
            name = f'{personality}{"_asked" if more else ""}_shows_names_alone'
            verdict(not strange, name, f'fi_info prints {strange}')
    verdict('caps FI_MSG' in needed and 'fi_tx_attr inject_size' in needed, 'advertised', 'fi_info shows too little')
    for what in sorted(needed):
        test = known.get(what, 'no test')
        there = test.startswith('-') or tuple(test.split('.', 1)) in tests
        verdict(there, 'tested_' + what.replace(' ', '_'), f'in advertised.tsv: {test}')
    return 1 if failed else 0


sys.exit(main())
