# SPDX-License-Identifier: BSD-2-Clause
# sides.py - a program of verbs as a server and a client, two processes of this machine. Used by live.py and trace_tool.py.
import os
import re
import subprocess
import time

from tshark import ROOT

EMURUN = os.path.join(ROOT, "tools/emurun")
LISTENS, HEARS = "0A", "07"  # states of sockets in /proc/net: of tcp, of udp


def is_there(kind, port):
    """Does a socket of this network namespace wait for a client at that port?"""
    for family in ("", "6"):
        with open(f"/proc/net/{kind}{family}") as table:
            if re.search(rf"^ *\d+: [0-9A-F:]*:{port:04X} [0-9A-F:]* ({LISTENS}|{HEARS}) ", table.read(), re.M):
                return True
    return False


def both(kind, port, *command, **env):
    """What went wrong, or nothing. The server waits at a port of TCP (`kind` tcp), or at a number of rdma_cm (udp)."""
    words = [EMURUN, *command, "-p", str(port)]
    env = dict(os.environ, **env)
    server = subprocess.Popen(words, env=env, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    for _ in range(600):  # a client that comes too early finds nobody, and ends
        if is_there(kind, port) or server.poll() is not None:
            break
        time.sleep(0.1)
    client = subprocess.run(words + ["127.0.0.1"], env=env, capture_output=True, text=True)
    if client.returncode:
        server.terminate()
    said = server.communicate()[0]
    good = client.returncode == 0 and server.returncode == 0
    return "" if good else f"{' '.join(command)}: {client.stdout[-300:]} {client.stderr[-300:]} {said[-300:]}"
