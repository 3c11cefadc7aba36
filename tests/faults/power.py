"""Losses of power. The shim's journal says what was written, brought to disk and renamed. It is replayed up to each
fsync, without what need not be on the disk by then, and the command goes on from there."""

import shutil
from pathlib import Path

from jobs import KILLED, Fit, SampleNetCDF, Wrong


class Disk:
    """A disk that forgets: `now` is what the program sees, `kept` the names that are on the disk for sure. A file is a
    list with its bytes as of its last fsync."""

    def __init__(self, root, files):
        self.root = Path(root)
        self.now = {p: [p.read_bytes()] for p in files}
        self.folders, self.kept_folders = {self.root}, {self.root}
        self.kept = dict(self.now)

    def play(self, event, path, other):
        path, other = Path(path), Path(other)
        if event == "create":
            self.now[path] = [b""]
        elif event == "sync" and path in self.now:
            self.now[path][0] = other.read_bytes()
        elif event == "rename" and path in self.now:
            self.now[other] = self.now.pop(path)
        elif event == "unlink":
            self.now.pop(path, None)
        elif event == "mkdir":
            self.folders.add(path)
        elif event == "folder":  # its names are on the disk
            for name in [p for p in self.kept if p.parent == path and p not in self.now]:
                del self.kept[name]
            self.kept.update({p: file for p, file in self.now.items() if p.parent == path})
            self.kept_folders |= {p for p in self.folders if p.parent == path}

    def after(self, lose_names):
        """The files after a loss of power, in which names that need not be there are lost, or all are there."""
        files, folders = (self.kept, self.kept_folders) if lose_names else (self.now, self.folders)

        def is_reached(path):
            return path == self.root or (path in folders and is_reached(path.parent))
        return ({p.relative_to(self.root): file[0] for p, file in files.items() if is_reached(p.parent)},
                {p.relative_to(self.root) for p in folders if is_reached(p)})


def put(files, folders, place):
    for folder in folders:
        (place / folder).mkdir(parents=True, exist_ok=True)
    for path, content in files.items():
        (place / path).write_bytes(content)


def power(campaign):
    rows = []
    for kind in (*KILLED[:3], SampleNetCDF):
        if kind is Fit:
            continue
        job = campaign.job(kind)
        journal, folder = campaign.scratch / f"journal-{job.name}", job.fresh()
        journal.mkdir()
        disk = Disk(folder, [p for p in folder.rglob("*") if p.is_file()])
        done = campaign.program.run(folder, job.arguments, journal=journal)
        job.compare(folder, done.stdout)
        events = [line.split("\t") for line in (journal / "journal").read_text().splitlines()]
        states = []
        for number, event in enumerate(events):
            disk.play(*event)
            if event[0] in ("sync", "folder"):
                states += [(number, lost, *disk.after(lost)) for lost in (True, False)]
        if campaign.short:
            states = campaign.random("power", job.name).sample(states, min(6, len(states)))

        def check(state, job=job):
            number, _, files, folders = state
            place = job.fresh()
            shutil.rmtree(place)
            place.mkdir()
            put(files, folders, place)
            job.finish(place)
            job.drop(place)

        # The promise of exit code 0: all is on the disk.
        def promise(_, job=job, disk=disk, folder=folder):
            files, _ = disk.after(True)
            for path in sorted(p for p in folder.rglob("*") if p.is_file()):
                name = path.relative_to(folder)
                if files.get(name) != path.read_bytes():
                    raise Wrong(f"{name} is {'not whole' if name in files else 'not'} on the disk after exit code 0")

        rows.append(campaign.each(f"loss of power, {job.name}", [Case(*s) for s in states], check))
        rows.append(campaign.each(f"loss of power after exit code 0, {job.name}", ["end"], promise))
    return rows


class Case(tuple):
    """A state of the disk that prints as its place in the journal."""

    def __new__(cls, *state):
        return super().__new__(cls, state)

    def __str__(self):
        return f"after event {self[0]}, names {'lost' if self[1] else 'kept'}"

    __format__ = lambda self, _: str(self)
