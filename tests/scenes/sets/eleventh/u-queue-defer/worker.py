"""Folder queue: jobs/ -> done/. Exit code 75 of a job means: not now, come back later."""
import json
import shutil
import subprocess
import sys
import time
from pathlib import Path

QUEUE, DONE, TRIES = Path("jobs"), Path("done"), 12


def log(msg):
    print(f"{time.strftime('%Y-%m-%dT%H:%M:%S')} worker: {msg}", flush=True)


later, tries = {}, {}
log(f"{len(list(QUEUE.glob('*.json')))} jobs queued")
while jobs := sorted(QUEUE.glob("*.json")):
    ready = [j for j in jobs if later.get(j, 0) <= time.time()]
    if not ready:
        time.sleep(1)
        continue
    job = ready[0]
    tries[job] = tries.get(job, 0) + 1
    log(f"start {job.stem} (attempt {tries[job]})")
    rc = subprocess.run([sys.executable, "-u", "boost.py", str(job)]).returncode
    if rc == 0:
        shutil.move(job, DONE / job.name)
        log(f"{job.stem} ok, {len(list(QUEUE.glob('*.json')))} left")
    elif rc == 75 and tries[job] < TRIES:
        later[job] = time.time() + 15
        log(f"{job.stem} returned 75 (temporary), deferred for 15 s")
    else:
        log(f"{job.stem} FAILED with {rc}")
        sys.exit(1)
log("queue empty, all jobs done: " + " ".join(sorted(p.stem for p in DONE.glob("*.json"))))
