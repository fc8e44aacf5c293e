#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""walk.py - all configurations of fi_ubertest over a provider that hangs in some: walk.py CONFIGURATIONS

fi_ubertest waits without end for what a provider never does, and its server leaves at the first error. So both are started
again behind each configuration where that happens. A configuration hangs when its two processes have used HANG_CPU seconds
of processor time, or HANG_WALL have gone, without a word from the client: time of the processor, as a loaded machine is
slow and not at fault.

Run in a network namespace of its own (run.sh). Prints the configurations that failed, and run.sh's line of counts.
"""
import os
import re
import subprocess
import sys
import time
from pathlib import Path

HANG_CPU, HANG_WALL = 3, 60
PORT = ':%04X' % 2710
LINE = re.compile(r'^(Starting|Ending|Skipping) test (\d+)(?: / (\d+))?(?:, result: (.*))?')
GOES_ON = ('Success', 'No data available', 'Input/output error')	# the server's: it leaves at any other
NOT_OFFERED = ('No data available', 'Function not implemented')


class Walk:
    def __init__(self, configurations):
        self.configurations = configurations
        self.next, self.last = 1, 1
        self.passed, self.failed, self.not_run = 0, 0, 0

    def count(self, number, name, result):
        if result == 'Success':
            self.passed += 1
        elif result in NOT_OFFERED:
            self.not_run += 1
        else:
            self.failed += 1
            print(f'not ok {number} {name} {result}', flush=True)
        self.next = number + 1

    def read(self, text, hung):
        """What a client said, up to the first configuration that its server did not outlive."""
        under_way, name = 0, ''
        for line in text.split('\n'):
            told = LINE.match(line)
            if not told:
                name = line if under_way and line.startswith('[') else name
            elif told[1] == 'Starting':
                if under_way:
                    break
                under_way, self.last = int(told[2]), int(told[3])
            elif told[1] == 'Skipping':
                self.next = int(told[2]) + 1
            elif under_way:
                self.count(under_way, name, told[4])
                under_way = 0
                if told[4] not in GOES_ON:
                    return
        if under_way:
            self.count(under_way, name, 'hangs' if hung else 'does not end')


def cpu(process):
    fields = Path(f'/proc/{process.pid}/stat').read_text().rsplit(')', 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf('SC_CLK_TCK')


def listening():
    return any(line.split()[1].endswith(PORT) and line.split()[3] == '0A' for line in open('/proc/net/tcp').readlines()[1:])


def watch(server, client, out):
    """Returns whether they hang."""
    size, used, since = -1, 0, 0
    while client.poll() is None and server.poll() is None:
        now, spent = time.monotonic(), cpu(client) + cpu(server)
        if out.stat().st_size != size:
            size, used, since = out.stat().st_size, spent, now
        elif spent - used > HANG_CPU or now - since > HANG_WALL:
            return True
        time.sleep(0.1)
    return False


def step(walk):
    out = Path('client.out')
    program = ['stdbuf', '-oL', 'fi_ubertest']
    with open(out, 'w') as to:
        server = subprocess.Popen([*program, '-x'], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        while not listening() and server.poll() is None:
            time.sleep(0.05)
        client = subprocess.Popen([*program, '-u', walk.configurations, '-y', str(walk.next), '127.0.0.1'],
                                  stdout=to, stderr=subprocess.DEVNULL)
        hung = watch(server, client, out)
    ended = client.poll() is not None
    for process in (client, server):
        process.kill()
        process.wait()
    begun = walk.next
    walk.read(out.read_text(errors='replace'), hung)
    if walk.next == begun and not ended:
        walk.count(begun, '', 'does not begin')
    return walk.next > begun


def main():
    walk = Walk(sys.argv[1])
    while step(walk):
        pass
    if walk.next <= walk.last:
        sys.exit(f'not ok the walk stopped before configuration {walk.next} of {walk.last}')
    print(f'# passed {walk.passed}, failed {walk.failed}, not run {walk.not_run}, excluded 0')


main()
