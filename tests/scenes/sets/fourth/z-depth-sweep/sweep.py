"""Try depths two at a time; the trials' own output goes to trials/NN/output.txt when they are done."""
import os, subprocess, sys, time

DEPTHS = [2, 3, 12, 16, 4, 6]
SLOTS = 2


def launch(k, layers):
    out = f"trials/{k:02d}"
    os.makedirs(out, exist_ok=True)
    print(f"[sweep] trial {k} started layers={layers}", flush=True)
    return k, layers, out, subprocess.Popen([sys.executable, "trial.py", "--layers", str(layers), "--out", out],
                                            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)


def main():
    waiting = list(enumerate(DEPTHS, 1))
    running, scores = [], {}
    while waiting or running:
        while waiting and len(running) < SLOTS:
            running.append(launch(*waiting.pop(0)))
        time.sleep(0.5)
        for job in list(running):
            k, layers, out, proc = job
            if proc.poll() is None:
                continue
            text = proc.stdout.read()
            with open(f"{out}/output.txt", "w") as f:
                f.write(text)
            running.remove(job)
            scores[layers] = float(text.rsplit("final ", 1)[1]) if proc.returncode == 0 else float("inf")
            print(f"[sweep] trial {k} finished rc={proc.returncode} score={scores[layers]:.5f}", flush=True)
    best = min(scores, key=scores.get)
    print(f"[sweep] best depth {best}: {scores[best]:.5f}", flush=True)


if __name__ == "__main__":
    main()
