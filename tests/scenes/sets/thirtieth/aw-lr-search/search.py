"""Random search, one trial after the other; a diverged trial is pruned and the next one starts."""
import json
import random
import subprocess
import sys

random.seed(58)
N = 9
results = []
log = open("search.log", "w", buffering=1)


def say(t):
    log.write(t + "\n")


for t in range(1, N + 1):
    lr = 10 ** random.uniform(-3.3, 0.2)
    width, mom = random.choice([32, 64, 128]), random.choice([0.0, 0.9])
    say(f"=== trial {t}/{N}: lr {lr:.2e} width {width} momentum {mom}")
    p = subprocess.Popen([sys.executable, "trial.py", "--name", f"t{t:02d}", "--lr", f"{lr:.5f}", "--width", str(width), "--momentum", str(mom)],
                         stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    for line in p.stdout:
        line = line.rstrip()
        say(line)
        if line.startswith("RESULT "):
            results.append(json.loads(line[7:]))
    say(f"=== trial {t} ended with code {p.wait()}")
    json.dump(results, open("results.json", "w"), indent=1)
done = sorted((r for r in results if r["state"] == "complete"), key=lambda r: r["val_mse"])
say(f"{len(done)} complete, {len(results) - len(done)} pruned")
for r in done:
    say(f"  {r['name']}  lr {r['lr']:<8} width {r['width']:<4} momentum {r['momentum']}  val_mse {r['val_mse']}")
