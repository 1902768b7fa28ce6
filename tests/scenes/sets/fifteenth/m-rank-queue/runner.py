import json, logging, subprocess, sys, time
from pathlib import Path

logging.basicConfig(stream=sys.stdout, level=logging.INFO, format="%(asctime)s queue %(levelname)s %(message)s")
log = logging.getLogger("queue")


def main():
    jobs = sorted(Path("jobs").glob("*.json"))
    log.info("%d jobs in the queue", len(jobs))
    done = {}
    for n, job in enumerate(jobs, 1):
        log.info("(%d/%d) starting %s", n, len(jobs), job.stem)
        t = time.time()
        rc = subprocess.run([sys.executable, "-u", "rank_job.py", str(job)]).returncode
        done[job.stem] = rc
        if rc:
            log.error("(%d/%d) %s failed with code %d after %.0f s", n, len(jobs), job.stem, rc, time.time() - t)
        else:
            log.info("(%d/%d) %s ok in %.0f s", n, len(jobs), job.stem, time.time() - t)
    Path("summary.json").write_text(json.dumps(done))
    log.info("queue is empty, summary in summary.json")


main()
