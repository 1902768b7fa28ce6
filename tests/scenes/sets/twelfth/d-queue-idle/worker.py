"""Fits what lies in the spool; waits for more."""
import json, time, numpy as np
from pathlib import Path
from sklearn.linear_model import SGDRegressor
spool = Path("spool"); spool.mkdir(exist_ok=True)
def say(m): print(time.strftime("%Y-%m-%dT%H:%M:%S"), m, flush=True)
def fit(job):
    r = np.random.default_rng(job["seed"]); X = r.normal(size=(2000, 20)); w = r.normal(size=20); y = X @ w + r.normal(0, .5, 2000); m = SGDRegressor(eta0=.002)
    for e in range(1, job["epochs"] + 1):
        m.partial_fit(X[:1500], y[:1500]); say(f"{job['name']} epoch={e} r2={m.score(X[1500:], y[1500:]):.4f}"); time.sleep(.7)
say("worker up"); told = False
while not Path("stop").exists():
    jobs = sorted(spool.glob("*.json"))
    if not jobs:
        if not told: say("spool empty, waiting for jobs")
        told = True; time.sleep(1); continue
    told = False; job = json.loads(jobs[0].read_text()); say(f"picked {jobs[0].name}"); fit(job); jobs[0].unlink(); say(f"done {jobs[0].name}")
say("stop file seen, bye")
