"""Campaigns of faults. Each returns rows of a table, (what, cases, faults found), and tells each fault as it is found."""

import os
import random
import resource
import shutil
import signal
import subprocess
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from jobs import ALL, KILLED, Report, Run, SampleNetCDF, Train, Wrong

WRITES = "write,fsync,rename,mkdir,open"


class Campaign:
    """What campaigns share: the program, how thorough they are, and the list of faults that they found."""

    def __init__(self, program, scratch, seed, short):
        self.program, self.scratch, self.seed, self.short = program, Path(scratch), seed, short
        self.found, self.jobs = [], {}

    def job(self, kind):
        if kind not in self.jobs:
            self.jobs[kind] = kind(self.program, self.scratch)
        return self.jobs[kind]

    def random(self, *parts):
        return random.Random(f"{self.seed} {parts}")

    def tell(self, what, case, why):
        self.found.append((what, case, why))
        if sum(found[0] == what for found in self.found) <= 5:  # more would be the same
            print(f"FAULT {what}, {case}: {why}", flush=True)

    def each(self, what, cases, check):
        """check(case) for all cases, two at a time; the row of the table."""
        def one(case):
            try:
                check(case)
                return 0
            except (Wrong, OSError, ValueError, KeyError) as wrong:
                self.tell(what, case, str(wrong) or type(wrong).__name__)
                return 1
        cases = list(cases)
        with ThreadPoolExecutor(2) as pool:
            faults = sum(pool.map(one, cases))
        print(f"{what}: {len(cases)} cases, {faults} faults", flush=True)
        return what, len(cases), faults


def start(program, folder, arguments, threads=1, **faults):
    """Starts a command whose SIGINT is not ignored, as it may be in the background of a script."""
    def defaults():
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, signal.SIG_DFL)
    return subprocess.Popen(program.command(arguments, threads), cwd=folder, env=program.environment(faults),
                            stdout=subprocess.PIPE, stderr=subprocess.PIPE, stdin=subprocess.DEVNULL, text=True,
                            preexec_fn=defaults)


def expect(done, codes, what="the command"):
    if done.returncode not in codes:
        raise Wrong(f"{what} ends with code {done.returncode}: {(done.stderr or '')[-300:]}")


# ---- kill -9 ----------------------------------------------------------------------------------------------------------


def kill(campaign):
    """kill -9 at a random call that writes (half of a write may be made), or at a random time; once or again and again."""
    times = 4 if campaign.short else 60
    rows = []
    for kind in KILLED:
        job = campaign.job(kind)
        calls = campaign.program.count(job.fresh(), job.arguments, WRITES)
        begin = time.monotonic()
        campaign.program.run(job.fresh(), job.arguments)
        took = time.monotonic() - begin

        def check(case, job=job, calls=calls, took=took):
            pick = campaign.random("kill", job.name, case)
            folder = job.fresh()
            for _ in range(pick.choice((1, 1, 2, 4))):
                arguments, threads = job.going_on(folder), pick.choice((1, 2, 3))
                if calls and pick.random() < 0.5:
                    campaign.program.run(folder, arguments, threads, calls=WRITES, at=pick.randint(1, calls), error=-9)
                    continue
                process = start(campaign.program, folder, arguments, threads)
                time.sleep(pick.uniform(0, took))
                process.kill()
                process.communicate()
            job.finish(folder, pick.choice((1, 2, 3)))
            job.drop(folder)

        rows.append(campaign.each(f"kill -9, {job.name}", range(times), check))
    return rows


# ---- The n-th call fails ----------------------------------------------------------------------------------------------

# The error of each call, and whether all later ones fail as well. A full disk stays full.
CALLS = {"write": ((28, 1), (5, 0)), "fsync": ((5, 0),), "rename": ((5, 0),), "close": ((5, 0),), "open": ((24, 0),),
         "mkdir": ((28, 0),), "malloc": ((12, 0),)}


def fail_once(campaign, job, call, n, error, stays):
    """The n-th call fails: a message and exit code 1, or the same results as ever; and then the command succeeds."""
    folder = job.fresh()
    before = {p: p.read_bytes() for p in folder.rglob("*") if p.is_file()}
    done = campaign.program.run(folder, job.arguments, calls=call, at=n, error=error, stays=stays,
                                modules="hastings,jansson")
    expect(done, (0, 1))
    if done.returncode == 0:
        job.compare(folder, done.stdout)
    elif not done.stderr.strip():
        raise Wrong("it fails without a message")
    for path, content in before.items():
        if not path.exists() or (path.read_bytes() != content and job.name != "report"):
            raise Wrong(f"{path.name}, which was there before, is lost")
    job.finish(folder)
    job.drop(folder)


def fail(campaign):
    rows = []
    most = 3 if campaign.short else 100  # allocations are the only calls that are more
    for kind in (Run, Train, SampleNetCDF) if campaign.short else ALL:
        job = campaign.job(kind)
        for call, errors in CALLS.items():
            folder = job.fresh()
            total = campaign.program.count(folder, job.arguments, call, modules="hastings,jansson")
            job.drop(folder)
            some = range(1, total + 1)
            if total > most:
                some = sorted(campaign.random("fail", job.name, call).sample(some, most))
            cases = [(n, *error) for n in some for error in errors]
            if campaign.short:
                cases = cases[:most]
            if cases:
                rows.append(campaign.each(f"the n-th {call} fails, {job.name}", cases,
                                          lambda case, job=job, call=call: fail_once(campaign, job, call, *case)))
    return rows


# ---- Full disks -------------------------------------------------------------------------------------------------------


def disks(campaign):
    """No file can grow beyond a limit, and disks of memory that are too small."""
    rows = []
    sizes = (0, 300, 5000) if campaign.short else (0, 1, 100, 300, 1000, 3000, 5000, 10000, 20000, 50000, 100000, 300000)
    for kind in (Run, Train, SampleNetCDF) if campaign.short else ALL:
        job = campaign.job(kind)

        def check(size, job=job):
            def limit():
                signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
                resource.setrlimit(resource.RLIMIT_FSIZE, (size, resource.RLIM_INFINITY))
            folder = job.fresh()
            done = campaign.program.run(folder, job.arguments, before=limit)
            expect(done, (0, 1))
            if done.returncode == 0:
                job.compare(folder, done.stdout)
            job.finish(folder)
            job.drop(folder)

        rows.append(campaign.each(f"files of at most so many bytes, {job.name}", sizes, check))

    def small_disk(size):
        disk = campaign.scratch / f"disk-{size}"
        disk.mkdir()
        job = campaign.job(Run)
        mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={size}k", "faults", disk], check=False,
                                 capture_output=True).returncode == 0
        if not mounted:
            raise Wrong("a small disk cannot be mounted")
        try:
            shutil.copytree(job.source, disk, dirs_exist_ok=True)
            expect(campaign.program.run(disk, job.arguments), (0, 1))
            subprocess.run(["mount", "-o", "remount,size=50m", disk], check=True)
            job.finish(disk)
        finally:
            subprocess.run(["umount", "-l", disk], check=True)

    if os.geteuid() == 0 and not campaign.short:
        probe = campaign.scratch / "probe"
        probe.mkdir(exist_ok=True)
        if subprocess.run(["mount", "-t", "tmpfs", "faults", probe], check=False, capture_output=True).returncode == 0:
            subprocess.run(["umount", probe], check=True)
            rows.append(campaign.each("disks of so many KiB, run", (8, 16, 32, 64, 96, 128, 192, 256, 384, 512), small_disk))
    return rows


# ---- Signals ----------------------------------------------------------------------------------------------------------


def signals(campaign):
    """A signal at a call that writes, or at a random time: INT and TERM end with code 130 (or come too late), PIPE does
    nothing; and the command goes on to the same results."""
    rows = []
    for kind in KILLED if campaign.short else ALL:
        job = campaign.job(kind)
        calls = campaign.program.count(job.fresh(), job.arguments, WRITES)
        begin = time.monotonic()
        campaign.program.run(job.fresh(), job.arguments)
        took = time.monotonic() - begin

        def check(case, job=job, calls=calls, took=took):
            pick = campaign.random("signal", job.name, case)
            number = pick.choice((signal.SIGINT, signal.SIGTERM, signal.SIGPIPE))
            folder = job.fresh()
            if calls and pick.random() < 0.6:
                process = start(campaign.program, folder, job.arguments, pick.choice((1, 2)), calls=WRITES,
                                at=pick.randint(1, calls), error=-number)
            else:
                process = start(campaign.program, folder, job.arguments, pick.choice((1, 2)))
                time.sleep(0.04 + pick.uniform(0, took))  # after main() has begun
                process.send_signal(number)
            stdout, stderr = process.communicate(timeout=60)
            early = (-number,) if number != signal.SIGPIPE else (-signal.SIGPIPE,)
            allowed = (0,) if number == signal.SIGPIPE else (0, 130)
            if process.returncode not in (*allowed, *early):
                raise Wrong(f"signal {number}: code {process.returncode}: {stderr[-300:]}")
            if process.returncode in early and stderr:
                raise Wrong(f"signal {number} ends it at work: {stderr[-300:]}")
            if process.returncode == 0:
                job.compare(folder, stdout)
            if job.name == "sample" and (folder / "d.npy").exists() and process.returncode:
                (folder / "d.npy").unlink()  # the draws so far, fewer than all
            if job.name == "sample (.nc)" and (folder / "d.nc").exists() and process.returncode:
                (folder / "d.nc").unlink()
            job.finish(folder)
            job.drop(folder)

        rows.append(campaign.each(f"signals, {job.name}", range(4 if campaign.short else 40), check))
    return rows


SLOW = {
    "train": ["train", "--target", "cross", "--proposal", "multi-scheme,couplings=100", "--out", "p"],
    "train, large steps": ["train", "--target", "gaussian,dim=500", "--proposal", "mala,diagonal", "--starts", "200",
                           "--proposals", "500", "--out", "p"],
    "train, reference chain": ["train", "--target", "logistic,data=german", "--proposal", "mala,scaled", "--out", "p",
                               "--reference", "10000000"],
    "sample, warm-up": ["sample", "trained.json", "--warmup", "20000000", "--draws", "10", "--out", "d.npy"],
    "sample, thinned": ["sample", "trained.json", "--thin", "100000", "--draws", "1000", "--out", "d.npy"],
    "fit": ["fit", "both"],
    "select": ["select", "--target", "logistic,data=german"],
    "diagnose": ["diagnose", "long.npy"],
    "run": ["run", "heart", "--out", "out"],
    "run, step sizes": ["run", "verify", "--out", "out"],
    "run, fits": ["run", "fit", "--out", "out"],
}


def latency(campaign):
    """How long slow commands take to end after Ctrl-C, at random times: a measurement, whose rows have seconds."""
    if campaign.short:
        return []
    source = campaign.job(SampleNetCDF).source
    long = campaign.scratch / "long"
    shutil.copytree(source, long)
    campaign.program.run(long, ["sample", "trained.json", "--draws", "1000000", "--out", "long.npy"], threads=2)
    rows = []
    for name, arguments in SLOW.items():
        seconds, wrong = [], 0
        for k in range(6):
            pick = campaign.random("latency", name, k)
            for made in ("p", "out"):
                shutil.rmtree(long / made, ignore_errors=True)
            (long / "d.npy").unlink(missing_ok=True)
            process = start(campaign.program, long, arguments, 2)
            time.sleep(0.1 + pick.uniform(0, 0.8 * (k + 1)))
            begin = time.monotonic()
            process.send_signal(pick.choice((signal.SIGINT, signal.SIGTERM)))
            _, stderr = process.communicate(timeout=120)
            if process.returncode == 0:
                continue
            seconds.append(time.monotonic() - begin)
            if process.returncode != 130:
                wrong += 1
                campaign.tell(f"Ctrl-C, {name}", k, f"code {process.returncode}: {stderr[-200:]}")
        late = max(seconds, default=0.0)
        print(f"Ctrl-C, {name}: {len(seconds)} times, ends after at most {late:.2f} s", flush=True)
        rows.append((f"Ctrl-C, {name}: at most {late:.2f} s", len(seconds), wrong))
    return rows
