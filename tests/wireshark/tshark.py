# SPDX-License-Identifier: BSD-2-Clause
# tshark.py - runs tshark with the dissector, as a user for whom it loads scripts. Used by dissect.py and live.py.
import os
import shutil
import subprocess
import sys
import tempfile

ROOT = os.path.realpath(os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", ".."))
NOBODY = 65534
SCRIPTS = ("emu.lua", "emu_names.lua", "emu_links.lua", "emu_check.lua", "emu_fields.lua", "emu_trunks.lua",
           "emu_words.lua", "emu_rdma.lua", "emu_datagrams.lua")


def skip(name, reason):
    print(f"skip {name} {reason}")
    sys.exit(77)


class NoTshark(Exception):
    """Why there is no tshark to run."""


class Tshark:
    """tshark loads no scripts for root. As root it runs as another user, in a folder of that user's with copies of the scripts."""

    def __init__(self):
        self.program = shutil.which("tshark")
        if not self.program:
            raise NoTshark("no tshark on this machine")
        self.folder = tempfile.mkdtemp(prefix="emu-wireshark-")
        self.drop = []
        if os.geteuid() == 0:
            self.drop = ["setpriv", f"--reuid={NOBODY}", f"--regid={NOBODY}", "--clear-groups"]
            if not shutil.which("setpriv") or subprocess.run(self.drop + ["true"], stderr=subprocess.DEVNULL).returncode:
                self.close()
                raise NoTshark("tshark loads no scripts for root, who cannot become another user here")
        os.mkdir(os.path.join(self.folder, "lua"))
        os.mkdir(os.path.join(self.folder, "home"))
        for script in SCRIPTS:
            shutil.copy(os.path.join(ROOT, "tools/wireshark", script), os.path.join(self.folder, "lua"))
        if self.drop:
            for folder, _, files in os.walk(self.folder):
                os.chown(folder, NOBODY, NOBODY)
                for file in files:
                    os.chown(os.path.join(folder, file), NOBODY, NOBODY)

    def path(self, name):
        return os.path.join(self.folder, name)

    def readable(self, name):
        os.chmod(self.path(name), 0o644)

    def run(self, *args):
        """stdout, when tshark has ended well and nothing of Lua is wrong."""
        script = os.path.join(self.folder, "lua/emu.lua")
        env = dict(os.environ, HOME=self.path("home"), LC_ALL="C", LD_LIBRARY_PATH="")
        env.pop("XDG_CONFIG_HOME", None)
        done = subprocess.run(self.drop + [self.program, "-n", "-X", "lua_script:" + script, *args], env=env, cwd=self.folder,
                              capture_output=True, text=True, errors="replace")
        if done.returncode:
            raise RuntimeError(f"tshark {' '.join(args)}: status {done.returncode}: {done.stderr}")
        for line in (done.stdout + done.stderr).splitlines():
            if "Lua" in line and "rror" in line or "lua:" in line and "attempt to" in line:
                raise RuntimeError(f"tshark {' '.join(args)}: {line}")
        return done.stdout

    def rows(self, capture, fields, *args):
        """A list of dicts, one for each packet: field -> list of values."""
        wanted = ["frame.number", *fields]
        named = [word for field in wanted for word in ("-e", field)]
        text = self.run("-2", "-r", self.path(capture), *args, "-T", "fields", "-E", "separator=/t", "-E", "aggregator=|", *named)
        # Of a flag, versions from 4.4 on write True, and those before 1.
        flags = {"True": "1", "False": "0"}
        table = [dict(zip(wanted, ([flags.get(one, one) for one in value.split("|")] if value else [] for value in line.split("\t"))))
                 for line in text.splitlines()]
        return [None] + table  # by the packet's number, from 1

    def close(self):
        shutil.rmtree(self.folder, ignore_errors=True)


def tshark_or_skip(test):
    """The test ends here if there is none."""
    try:
        return Tshark()
    except NoTshark as why:
        return skip(test, why)


class Checks:
    """Named checks, each printed as a case of the test."""

    def __init__(self):
        self.failed = False

    def that(self, name, wrong):
        """`wrong`: what is wrong, or nothing."""
        if wrong:
            print(wrong if isinstance(wrong, str) else "\n".join(str(line) for line in wrong[:10]))
            self.failed = True
        print(("not ok " if wrong else "ok ") + name, flush=True)

    def run(self, name, check, *args):
        try:
            self.that(name, check(*args))
        except RuntimeError as error:
            self.that(name, str(error)[:2000])
