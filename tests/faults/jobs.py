"""The commands that the campaigns of faults disturb: small settings, how to go on after a fault, and equal results."""

import json
import os
import re
import shutil
import subprocess
from pathlib import Path

EXPERIMENT = {
    "name": "few", "title": "Few", "columns": ["acceptance", "msjd", "loss"], "figures": ["density"],
    "settings": {"steps": 240, "starts": 2, "proposals": 5, "chains": 2, "draws": 100, "restarts": 2,
                 "reference_warmup": 20, "reference_proposals": 400, "reference_chains": 4},
    "cases": [{"name": "plane", "target": "cross", "proposal": "position-mixture,components=2,width=4,depth=1"},
              {"name": "ripley", "target": "logistic,data=ripley", "proposal": "mala,diagonal"}],
    "rows": [{"name": "GSM", "objective": "gsm-60"}, {"name": "HMC", "sampler": "hmc"}],
}
TRAIN = ["train", "--target", "logistic,data=ripley", "--proposal", "mala,diagonal", "--steps", "300", "--starts", "2",
         "--proposals", "5", "--reference", "400", "--restarts", "2", "--out", "p", "--name", "x"]
SAMPLE = ["sample", "trained.json", "--draws", "150", "--out"]
TIMES = {"seconds", "started", "finished", "threads", "workers", "command", "gradients_per_second", "samples_per_second",
         "ess_per_second", "folder", "seconds_before"}


def timeless(value):
    """JSON without what belongs to the clock."""
    if isinstance(value, dict):
        return {k: timeless(v) for k, v in value.items() if k not in TIMES}
    return [timeless(v) for v in value] if isinstance(value, list) else value


class Wrong(Exception):
    """A promise that was not kept."""


class Program:
    """The program under test, with the library that disturbs it."""

    def __init__(self, program, shim):
        self.program, self.shim = str(Path(program).resolve()), str(Path(shim).resolve())

    def command(self, arguments, threads=1):
        return [self.program, *arguments, "--threads", str(threads)]

    def environment(self, faults):
        if not faults:
            return None
        return dict(os.environ, LD_PRELOAD=self.shim, **{f"FAULTS_{k.upper()}": str(v) for k, v in faults.items()})

    def run(self, folder, arguments, threads=1, before=None, timeout=60, **faults):
        """Runs a command in a folder; the finished process has the output as text."""
        try:
            return subprocess.run(self.command(arguments, threads), cwd=folder, env=self.environment(faults),
                                  capture_output=True, text=True, errors="replace", timeout=timeout,
                                  stdin=subprocess.DEVNULL, preexec_fn=before, check=False)
        except subprocess.TimeoutExpired as late:
            raise Wrong(f"{arguments[0]} does not end") from late

    def count(self, folder, arguments, calls, **more):
        """The number of calls that an undisturbed command makes."""
        path = Path(folder) / "count"
        self.run(folder, arguments, calls=calls, count=path, **more)
        return int(path.read_text())


class Job:
    """A command: how it begins, and how it goes on after a fault. `prepare` makes what it needs."""

    name, arguments = "", []

    def __init__(self, program, scratch):
        self.program, self.scratch, self.number = program, Path(scratch), 0
        self.source = self.fresh()
        self.prepare(self.source)
        self.whole = self.fresh()
        done = program.run(self.whole, self.arguments)
        if done.returncode:
            raise Wrong(f"the undisturbed {self.name} fails: {done.stderr}")
        self.expected = self.result(self.whole, done.stdout)

    def prepare(self, folder):
        """Makes what the command needs."""

    def fresh(self):
        """A new folder with what the command needs."""
        self.number += 1
        folder = self.scratch / f"{self.name}-{self.number}"
        shutil.rmtree(folder, ignore_errors=True)
        if self.number > 1:
            shutil.copytree(self.source, folder)
        else:
            folder.mkdir(parents=True)
        return folder

    def drop(self, folder):
        shutil.rmtree(folder, ignore_errors=True)

    def going_on(self, folder):
        """The arguments that continue in a folder."""
        return self.arguments

    def result(self, folder, stdout):
        """What must be the same, with or without faults."""
        raise NotImplementedError

    def finish(self, folder, threads=2):
        """Goes on until it is done, and compares."""
        arguments = self.going_on(folder)
        done = self.program.run(folder, arguments, threads)
        if done.returncode:
            raise Wrong(f"going on fails with code {done.returncode}: {done.stderr[-300:]}")
        self.compare(folder, done.stdout)
        left = [str(p) for p in folder.rglob("*.tmp")] if self.cleans(arguments) else []
        if left:
            raise Wrong(f"unfinished files are left: {left}")

    def cleans(self, arguments):
        """Whether a command removes the unfinished files of a killed one."""
        return False

    def compare(self, folder, stdout):
        found = self.result(folder, stdout)
        if found != self.expected:
            keys = [k for k in self.expected if found.get(k) != self.expected[k]]
            raise Wrong(f"other results: {keys}")


class Run(Job):
    name, arguments = "run", ["run", "few.json", "--out", "out"]

    def prepare(self, folder):
        (folder / "few.json").write_text(json.dumps(EXPERIMENT))

    def going_on(self, folder):
        if (folder / "out/result.json").exists():
            return ["run", "--resume", "out"]
        shutil.rmtree(folder / "out", ignore_errors=True)  # nothing was saved: it begins anew
        return self.arguments

    def cleans(self, arguments):
        return "--resume" in arguments

    def result(self, folder, stdout):
        out = folder / "out"
        files = {str(p.relative_to(out)): p.read_bytes() for p in sorted(out.rglob("*"))
                 if p.suffix in (".nc", ".hsp", ".npy") and "training" not in p.name}
        files["result.json"] = timeless(json.loads((out / "result.json").read_text()))
        if not (out / "report.html").exists():
            raise Wrong("there is no report")
        return files


class Train(Job):
    name, arguments = "train", TRAIN

    def result(self, folder, stdout):
        saved = re.search(r"saved +(\S+)", stdout)
        if not saved:
            raise Wrong("the command does not say where it saved")
        path = folder / saved[1]
        described = timeless(json.loads(path.read_text()))
        described.pop("parameters", None)
        return {"json": described, "hsp": path.with_suffix(".hsp").read_bytes()}


class Sample(Job):
    name, arguments = "sample", [*SAMPLE, "d.npy"]
    out = "d.npy"

    def prepare(self, folder):
        done = self.program.run(folder, [*TRAIN[:-4], "--out", ".", "--name", "trained"])
        if done.returncode:
            raise Wrong(f"there is nothing to sample with: {done.stderr}")

    def going_on(self, folder):
        """A file that is there is whole, and is not replaced."""
        if (folder / self.out).exists():
            self.compare(folder, "")
            (folder / self.out).unlink()
        return self.arguments

    def result(self, folder, stdout):
        return {self.out: (folder / self.out).read_bytes()}


class SampleNetCDF(Sample):
    """The same, by libnetcdf."""

    name, arguments, out = "sample (.nc)", [*SAMPLE, "d.nc"], "d.nc"

    def result(self, folder, stdout):
        """The file also holds the time that it took."""
        seen = self.program.run(folder, ["diagnose", self.out, "--json"])
        if seen.returncode:
            raise Wrong(f"the draws cannot be read: {seen.stderr}")
        return {"diagnosis": timeless(json.loads(seen.stdout))}


class Fit(Job):
    name, arguments = "fit", ["fit", "both", "--rows", "2000", "--dim", "20", "--json"]

    def result(self, folder, stdout):
        return {"output": stdout}


class Select(Job):
    name = "select"
    arguments = ["select", "--target", "gaussian,dim=2", "--steps", "60", "--batches", "20", "--out", "p", "--schemes",
                 "random-walk;mala", "--json"]

    def result(self, folder, stdout):
        found = timeless(json.loads(stdout))
        path = folder / found.pop("file")
        return {"output": found, "hsp": path.with_suffix(".hsp").read_bytes()}


class Report(Job):
    """Drawing and tables of a run that is there."""

    name, arguments = "report", ["report", "out"]

    def prepare(self, folder):
        Run.prepare(self, folder)
        done = self.program.run(folder, Run.arguments)
        if done.returncode:
            raise Wrong(f"there is nothing to report: {done.stderr}")

    def result(self, folder, stdout):
        return {p: (folder / "out" / p).read_bytes() for p in ("result.md", "result.csv", "report.html")}


class Diagnose(SampleNetCDF):
    name, arguments = "diagnose", ["diagnose", "d.nc", "--json"]

    def prepare(self, folder):
        super().prepare(folder)
        self.program.run(folder, [*SAMPLE, "d.nc"])

    def going_on(self, folder):
        return self.arguments

    def result(self, folder, stdout):
        return {"output": timeless(json.loads(stdout))}


KILLED = (Run, Train, Sample, Fit)
ALL = (Run, Train, Sample, SampleNetCDF, Fit, Select, Report, Diagnose)
