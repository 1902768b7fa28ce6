import json, random, subprocess, sys, time
from concurrent.futures import ThreadPoolExecutor

random.seed(5)
configs = [{"id": i, "lr": 10 ** random.uniform(-4, 2.2), "wd": random.choice([0, 1e-4])} for i in range(9)]


def run(job):
    c, budget = job
    p = subprocess.run([sys.executable, "worker.py", json.dumps(c), str(budget)], capture_output=True, text=True)
    return c, p.returncode, p.stdout.strip().splitlines()[-1:] , p.stderr.strip().splitlines()[-1:]


budget = 20
for rung in range(3):
    print(f"=== rung {rung}: {len(configs)} configs, budget {budget} steps", flush=True)
    scored = []
    with ThreadPoolExecutor(2) as ex:
        for c, rc, out, err in ex.map(run, [(c, budget) for c in configs]):
            if rc:
                print(f"[rung {rung}] config {c['id']:2d} lr={c['lr']:.4f} FAILED rc={rc} ({err[0] if err else ''}) -> dropped", flush=True)
                continue
            v = json.loads(out[0])["val"]
            scored.append((v, c))
            print(f"[rung {rung}] config {c['id']:2d} lr={c['lr']:.4f} val={v:.4f}", flush=True)
    scored.sort(key=lambda s: s[0])
    configs = [c for _, c in scored[:max(1, len(scored) // 2)]]
    budget *= 2
print("winner:", configs[0], flush=True)
