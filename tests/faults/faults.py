#!/usr/bin/env python3
"""Campaigns of faults against the program: faults.py PROGRAM SHIM [--short] [--only NAME] [--seed N] [--out FILE.tsv].

Prints a table, writes it as tab-separated text (campaign, cases, faults), and fails if a fault was found."""

import argparse
import os
import shutil
import sys
import tempfile
import time
from pathlib import Path

import campaigns
import power
from jobs import Program, Run

CAMPAIGNS = {"kill": campaigns.kill, "power": power.power, "signals": campaigns.signals, "disks": campaigns.disks,
             "latency": campaigns.latency, "fail": campaigns.fail}


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("program")
    parser.add_argument("shim")
    parser.add_argument("--short", action="store_true", help="some cases of each campaign: seconds")
    parser.add_argument("--only", choices=CAMPAIGNS, action="append")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--out")
    given = parser.parse_args()
    # Faults are made by the shim; a disk of memory makes them faster.
    memory = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None
    scratch = Path(tempfile.mkdtemp(prefix="hastings-faults-", dir=memory))
    begin, rows, found = time.monotonic(), [], []
    try:
        shutil.copy2(given.program, scratch / "hastings")  # a build meanwhile does no harm
        campaign = campaigns.Campaign(Program(scratch / "hastings", given.shim), scratch, given.seed, given.short)
        job = campaign.job(Run)
        if not campaign.program.count(job.fresh(), job.arguments, campaigns.WRITES):
            sys.exit("the shim has no effect")
        for name in given.only or CAMPAIGNS:
            rows += CAMPAIGNS[name](campaign)
            if given.out:
                Path(given.out).write_text("campaign\tcases\tfaults\n" + "".join(f"{a}\t{b}\t{c}\n" for a, b, c in rows))
        found = campaign.found
    finally:
        shutil.rmtree(scratch, ignore_errors=True)
    width = max((len(what) for what, _, _ in rows), default=0)
    print(f"\n{'campaign':{width}}  {'cases':>6}  {'faults':>6}")
    for what, cases, faults in rows:
        print(f"{what:{width}}  {cases:6}  {faults:6}")
    print(f"\n{sum(r[1] for r in rows)} cases, {len(found)} faults, seed {given.seed}, {time.monotonic() - begin:.0f} s")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
