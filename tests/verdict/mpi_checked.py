# SPDX-License-Identifier: BSD-2-Clause
# mpi_checked.py - emurun --check mpirun: programs of MPI are clean, and each rank is seen. mpi_checked.py PROGRAM..., in the
# environment of runner.sh.
import json
import os
import sys

from records import EMURUN, SOURCE, Folder, run

RANKS = 4
if "FI_EMU_REPORT" not in run(EMURUN, "fi_info", "-e", "-g", "emu").stdout:
    print("skip all the provider of this build has no FI_EMU_REPORT")
    sys.exit(77)
# matching.c receives into buffers that are too short, and looks at the error.
PROVOKED = "truncated program=mpi_matching optional\n"
failed, passed = 0, 0
for program in sys.argv[1:]:
    name, folder = os.path.basename(program), Folder()
    path, expected = os.path.join(folder.path, "out.json"), os.path.join(folder.path, "expected")
    with open(expected, "w", encoding="utf-8") as file:
        file.write(PROVOKED)
    answer = run(EMURUN, "--check", "--expect", expected, "--report", path, f"{SOURCE}/tests/mpi/mpirun.sh", str(RANKS), program)
    if answer.returncode == 77:
        print(answer.stdout.strip())
    else:
        with open(path, encoding="utf-8") as file:
            processes = json.load(file)["summary"]["processes"]
        good = answer.returncode == 0 and processes >= RANKS
        if not good:
            print(answer.stdout, answer.stderr)
        print(f"ok {name}" if good else f"not ok {name} status {answer.returncode}, {processes} processes")
        passed, failed = passed + good, failed + (not good)
    folder.remove()
sys.exit(1 if failed else 0 if passed else 77)
