#!/usr/bin/python3
# SPDX-License-Identifier: BSD-2-Clause
"""wheel_pack.py - a wheel of an installed tree: wheel_pack.py TREE LICENCES FOLDER VERSION PLATFORM SECOND

What is in TREE/bin becomes scripts, which pip puts on PATH, and the rest data, which it puts below the same prefix. LICENCES is a
folder of texts. Prints the path of the wheel. The same files and SECOND give the same bytes.
"""
import base64
import hashlib
import pathlib
import sys
import time
import zipfile

NAME = "emu-rdma"
SUMMARY = "Emulated RDMA NIC for programs of libibverbs and libfabric"
EARLIEST = 315532800  # the zip format begins in 1980

DESCRIPTION = """
`emurun CMD` runs a program of libibverbs or libfabric on an emulated RDMA NIC, without hardware, privileges or changes, and
`emurun --check CMD` says what it did wrong. The folder `licenses` beside this file has the licences of what is included.
"""


class Wheel:
    """A zip file with one time for all of its files, and a record of them."""

    def __init__(self, path, second, info):
        self.zip = zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED, compresslevel=9)
        self.time = time.gmtime(max(second, EARLIEST))[:6]
        self.info = info
        self.record = []

    def add(self, name, content, mode=0o644):
        entry = zipfile.ZipInfo(name, self.time)
        entry.create_system = 3  # Unix, which has modes
        entry.external_attr = (0o100000 | mode) << 16
        entry.compress_type = zipfile.ZIP_DEFLATED
        self.zip.writestr(entry, content)
        digest = base64.urlsafe_b64encode(hashlib.sha256(content).digest()).rstrip(b"=").decode()
        self.record.append(f"{name},sha256={digest},{len(content)}\n")

    def add_folder(self, folder, below, keep=lambda path: True):
        for path in sorted(folder.rglob("*")):
            if path.is_symlink():
                sys.exit(f"wheel_pack.py: {path} is a link, which a wheel cannot have")
            if path.is_file() and keep(path.relative_to(folder)):
                mode = 0o755 if path.stat().st_mode & 0o100 else 0o644
                self.add(f"{below}/{path.relative_to(folder)}", path.read_bytes(), mode)

    def close(self):
        name = f"{self.info}/RECORD"
        self.add(name, ("".join(self.record) + f"{name},,\n").encode())
        self.zip.close()


def metadata(version, licences):
    """The fields, with a line for each text of a licence."""
    texts = "".join(f"License-File: {path.name}\n" for path in sorted(licences.iterdir()))
    return (f"Metadata-Version: 2.4\nName: {NAME}\nVersion: {version}\nSummary: {SUMMARY}\n"
            f"Requires-Python: >=3.6\n{texts}Description-Content-Type: text/markdown\n{DESCRIPTION}")


def main():
    tree, licences, folder = map(pathlib.Path, sys.argv[1:4])
    version, platform, second = sys.argv[4:]
    tag = f"py3-none-{platform}"
    stem = f"{NAME.replace('-', '_')}-{version}"
    path = folder / f"{stem}-{tag}.whl"
    wheel = Wheel(path, int(second), f"{stem}.dist-info")
    wheel.add_folder(tree, f"{stem}.data/data", lambda name: name.parts[0] != "bin")
    wheel.add_folder(tree / "bin", f"{stem}.data/scripts")
    wheel.add(f"{wheel.info}/METADATA", metadata(version, licences).encode())
    wheel.add(f"{wheel.info}/WHEEL",
              f"Wheel-Version: 1.0\nGenerator: emu {version}\nRoot-Is-Purelib: false\nTag: {tag}\n".encode())
    wheel.add_folder(licences, f"{wheel.info}/licenses")
    wheel.close()
    print(path)


if len(sys.argv) != 7:
    sys.exit(__doc__)
main()
