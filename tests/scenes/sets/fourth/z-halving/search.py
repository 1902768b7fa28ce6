"""Search over lr and momentum, three trials at once. After 30 steps a trial above the threshold is stopped."""
import json, os, subprocess, sys, time

GRID = [(0.01, 0.0), (1.5, 0.9), (0.02, 0.9), (0.8, 0.95), (0.02, 0.5), (0.005, 0.9), (0.015, 0.9)]


def report(k):
    try:
        return json.load(open(f"reports/{k}.json"))
    except FileNotFoundError:
        return {"step": 0, "loss": float("nan")}


def main():
    os.makedirs("reports", exist_ok=True)
    todo, live, scores, pruned = list(range(len(GRID))), {}, {}, []
    while todo or live:
        while todo and len(live) < 3:
            k = todo.pop(0)
            lr, mom = GRID[k]
            live[k] = subprocess.Popen([sys.executable, "worker.py", "--id", str(k), "--lr", str(lr), "--momentum", str(mom)])
            print(f"search: started trial {k} (lr={lr}, momentum={mom}), pid {live[k].pid}", flush=True)
        time.sleep(0.5)
        for k, proc in list(live.items()):
            r = report(k)
            if proc.poll() is not None:
                print(f"search: trial {k} ended with {proc.returncode}, loss {r['loss']:.4f}", flush=True)
                scores[k] = r["loss"]
                del live[k]
            elif r["step"] >= 30 and r["loss"] > 40:
                proc.kill()
                proc.wait()
                pruned.append(k)
                print(f"search: trial {k} killed (exit {proc.returncode}): loss {r['loss']:.3g} at step {r['step']}, not worth going on",
                      flush=True)
                del live[k]
    best = min(scores, key=scores.get)
    print(f"search: finished. {len(scores)} completed, {len(pruned)} pruned {pruned}; best trial {best} {GRID[best]} "
          f"loss {scores[best]:.4f}", flush=True)


if __name__ == "__main__":
    main()
