#!/usr/bin/python3
# SPDX-License-Identifier: BSD-2-Clause
"""recipes.py - the recipes of docker/ci, taken from their files: recipes.py [--all RELEASE | --wheel WHEEL] FOLDER

Looks at the shape of FOLDER/itself.yml, of FOLDER/github.yml and FOLDER/gitlab.yml, then does what the last two say to a copy of
FOLDER/example: once as it is, where all must be right, and once with its failing test, where the job must fail and leave its
reports all the same. With --all also installs the packages from the address RELEASE, which changes the system; else those must be
found already.

With --wheel does so with FOLDER/github-wheel.yml, its action, and FOLDER/gitlab-wheel.yml, which install the file WHEEL.
"""
import argparse
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import xml.etree.ElementTree

try:
    import yaml
except ImportError:
    yaml = None

REFUSED = 86  # emurun's status when something was refused
LEFT = ["ctest.xml", "emu.xml", "emu.sarif", "trace.html"]
HANG_S = 600
OWN_ACTION = "./.github/actions/emu"


def action(folder, inputs):
    """The script of the project's own action, with what it is given."""
    text = (folder / "action" / "action.yml").read_text()
    whole = yaml.safe_load(text)
    assert {"name", "description", "inputs", "runs"} <= set(whole) and whole["runs"]["using"] == "composite"
    assert set(inputs) == set(whole["inputs"]), f"the action takes {set(whole['inputs'])}"
    (step,) = whole["runs"]["steps"]
    assert step["shell"] == "bash" and step["env"] == {"EMU_WHEEL": "${{ inputs.wheel }}"}
    return step


def github(path):
    """The job as (install, test, always, environment, artefacts): the first three are lists of scripts."""
    workflow = yaml.safe_load(path.read_text())
    assert {"name", "permissions", "jobs"} <= set(workflow) and True in workflow, "a workflow has name, on, permissions and jobs"
    (job,) = workflow["jobs"].values()
    assert {"runs-on", "timeout-minutes", "steps"} <= set(job), "a key of the job is missing"
    steps = job["steps"]
    assert steps[0]["uses"].startswith("actions/checkout@v"), "the first step checks out"
    runs = {}
    for step in steps:
        assert ("uses" in step) != ("run" in step), f"a step either uses or runs: {step}"
        if step.get("uses") == OWN_ACTION:
            assert "container" not in job and step["with"] == {"wheel": "${{ vars.EMU_WHEEL }}"}
            runs["Install"] = action(path.parent, step["with"])
        else:
            assert "run" in step or "@v" in step["uses"], f"an action has a version: {step}"
    assert ("container" in job) != ("Install" in runs), "packages are installed in a container"
    runs.update({step["name"]: step for step in steps if "run" in step})
    after = steps[steps.index(runs["Test"]) + 1:]
    assert all(step["if"] == "always()" for step in after), "what follows the test is done when it failed, too"
    upload = next(step for step in steps if "upload-artifact" in step.get("uses", ""))
    assert any(step.get("with", {}).get("sarif_file") == "emu.sarif" for step in after), "SARIF is uploaded"
    environment = {key: value for key, value in job["env"].items() if "${{" not in value}
    return ([runs["Install"]["run"]], [runs["Build"]["run"], runs["Test"]["run"]],
            [step["run"] for step in after if "run" in step], environment, upload["with"]["path"].split())


def gitlab(path):
    """As github(). The commands of before_script and script share a shell; without an image they also install."""
    (job,) = yaml.safe_load(path.read_text()).values()
    assert {"timeout", "variables", "before_script", "script", "after_script", "artifacts"} <= set(job)
    for part in ("before_script", "script", "after_script"):
        assert all(isinstance(line, str) for line in job[part]), f"{part} is a list of commands"
    artefacts = job["artifacts"]
    assert artefacts["when"] == "always" and set(artefacts["reports"]["junit"]) <= set(artefacts["paths"])
    before, script, after = ("\n".join(job[part]) for part in ("before_script", "script", "after_script"))
    if "image" not in job:
        before, script = "", f"{before}\n{script}"
    return [before], [script], [after], job["variables"], artefacts["paths"]


def itself(folder):
    """The project's own workflow: a push runs what a change must pass, the schedule runs all."""
    workflow = yaml.safe_load((folder / "itself.yml").read_text())
    on, jobs = workflow[True], workflow["jobs"]  # YAML 1.1 reads `on` as true
    assert {"push", "pull_request"} <= set(on), "each change is tested"
    assert all(len(entry["cron"].split()) == 5 for entry in on["schedule"]), "a schedule has five fields"
    runs = {job["if"]: [step["run"] for step in job["steps"] if "run" in step] for job in jobs.values()}
    assert runs == {"github.event_name != 'schedule'": [".ci/run"], "github.event_name == 'schedule'": [".ci/nightly"]}, runs
    top = folder.parent.parent
    if (top / ".ci").exists():
        assert all(os.access(top / name, os.X_OK) for (name,) in runs.values()), "a command is not there"


class Recipe:
    """One file, its example's copy, and the steps that are done there."""

    def __init__(self, path, parse, release, wheel):
        self.name, self.folder, self.release, self.wheel = path.stem, path.parent, release, wheel
        self.install, self.test, self.always, self.environment, self.artefacts = parse(path)
        assert sorted(self.artefacts) == sorted(LEFT), f"artefacts: {self.artefacts}"

    def step(self, script, cwd):
        environment = {**os.environ, **self.environment, "EMU_RELEASE": self.release or ""}
        if self.wheel:
            paths = cwd / "github_path"
            environment |= {"EMU_WHEEL": str(self.wheel), "RUNNER_TEMP": str(cwd), "GITHUB_PATH": str(paths), "PIP_NO_INDEX": "1",
                            "CI_PROJECT_DIR": str(cwd), "PIP_NO_CACHE_DIR": "1", "CMAKE_GENERATOR": "Ninja"}
            added = paths.read_text().split() if paths.exists() else []
            environment["PATH"] = ":".join([*added, environment["PATH"]])
        done = subprocess.run(["sh", "-e", "-c", script], cwd=cwd, env=environment, stdin=subprocess.DEVNULL, text=True,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=HANG_S)
        return done.returncode, done.stdout

    def run(self, scratch, failing):
        """Returns the status of the first step that failed, or 0, and all that was said."""
        cwd = scratch / f"{self.name}-{failing}"
        shutil.copytree(self.folder / "example", cwd)
        if failing:
            text = (cwd / "CMakeLists.txt").read_text()
            assert " OFF)" in text
            (cwd / "CMakeLists.txt").write_text(text.replace(" OFF)", " ON)"))
        status, said = 0, ""
        for script in (self.install if self.release or self.wheel else []) + self.test:
            status, more = self.step(script, cwd)
            said += more
            if status:
                break
        for script in self.always:
            late, more = self.step(script, cwd)
            said, status = said + more, status or late
        return status, said, cwd

    def passes(self, scratch):
        status, said, cwd = self.run(scratch, False)
        assert status == 0, f"status {status}: {said}"
        self.left(cwd)
        assert not failures(cwd / "ctest.xml") and not failures(cwd / "emu.xml"), said

    def fails(self, scratch):
        status, said, cwd = self.run(scratch, True)
        assert status == REFUSED and "1 B past the end of a 4096 B region (S65)" in said, f"status {status}: {said}"
        self.left(cwd)
        assert '"uri": "put.c"' in (cwd / "emu.sarif").read_text().replace("\t", " "), "no finding is at a line of put.c"
        assert failures(cwd / "ctest.xml") == ["put_beyond"] and failures(cwd / "emu.xml"), said

    def left(self, cwd):
        for name in LEFT:
            assert (cwd / name).stat().st_size, f"{name} is empty"


def failures(path):
    """The names of the test cases in a JUnit report that failed."""
    cases = list(xml.etree.ElementTree.parse(path).iter("testcase"))
    assert cases, f"{path.name} has no test case"
    return [case.get("name") for case in cases if case.find("failure") is not None]


def verdict(name, check):
    try:
        result = check()
        print(f"ok {name}")
        return result
    except (AssertionError, OSError, KeyError, ValueError, StopIteration, subprocess.SubprocessError, yaml.YAMLError) as why:
        print(why)
        print(f"not ok {name}")
        sys.exit(1)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    ways = parser.add_mutually_exclusive_group()
    ways.add_argument("--all", metavar="RELEASE")
    ways.add_argument("--wheel", type=pathlib.Path)
    parser.add_argument("folder", type=pathlib.Path)
    args = parser.parse_args()
    if not yaml:
        print("skip recipes python3-yaml is not installed")
        return
    verdict("itself_shape", lambda: itself(args.folder))
    with tempfile.TemporaryDirectory(prefix="emu-recipes.") as scratch:
        for name, parse in (("github", github), ("gitlab", gitlab)):
            path = args.folder / f"{name}{'-wheel' if args.wheel else ''}.yml"
            recipe = verdict(f"{name}_shape", lambda: Recipe(path, parse, args.all, args.wheel))
            verdict(f"{name}_passes", lambda: recipe.passes(pathlib.Path(scratch)))
            verdict(f"{name}_fails", lambda: recipe.fails(pathlib.Path(scratch)))


main()
