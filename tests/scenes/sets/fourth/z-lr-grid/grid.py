import json, subprocess, sys, time

LRS = [0.003, 30.0, 0.01, 0.03, 0.05, 0.1, 0.2, 0.3]
results = {}
for n, lr in enumerate(LRS):
    t0 = time.time()
    rc = subprocess.call([sys.executable, "trial.py", str(lr), str(n)])
    if rc == 0:
        results[n] = json.load(open(f"score_{n}.json"))["loss"]
        print(f"trial {n} finished in {time.time() - t0:.0f} s: lr={lr} loss={results[n]:.4f}", flush=True)
    elif rc == 10:
        print(f"trial {n} pruned: lr={lr} diverged", flush=True)
    else:
        print(f"trial {n} failed with {rc}, going on", flush=True)
best = min(results, key=results.get)
print(f"grid finished: {len(results)} of {len(LRS)} trials have a score; best lr={LRS[best]} loss={results[best]:.4f}")
