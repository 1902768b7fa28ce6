"""Population based training of the kite's autopilot: three members, the worst is replaced every round."""
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import time

random.seed(8)
MEMBERS, ROUNDS, EACH = 3, 6, 20


def say(text):
    print(f"{time.strftime('%H:%M:%S')} [pbt] {text}", flush=True)


def start(k, lr):
    p = subprocess.Popen([sys.executable, "member.py", str(k), f"{lr:.6f}"])
    say(f"member {k} started, pid {p.pid}, lr {lr:.5f}")
    return p


def state(k):
    try:
        return json.load(open(f"pop/{k}.json"))
    except FileNotFoundError:
        return {"fitness": None, "updates": 0}


def main():
    os.makedirs("pop", exist_ok=True)
    lrs = [0.02, 0.0004, 0.006]
    procs = [start(k, lrs[k]) for k in range(MEMBERS)]
    need = [EACH] * MEMBERS
    for r in range(1, ROUNDS + 1):
        while any(state(k)["updates"] < need[k] for k in range(MEMBERS)):
            time.sleep(0.5)
            for k, p in enumerate(procs):
                if p.poll() is not None:
                    raise SystemExit(f"member {k} ended by itself with {p.returncode}")
        f = [state(k)["fitness"] for k in range(MEMBERS)]
        say(f"round {r}/{ROUNDS}: fitness " + " ".join(f"{v:.3f}" for v in f))
        if r == ROUNDS:
            break
        worst, best = f.index(min(f)), f.index(max(f))
        procs[worst].send_signal(signal.SIGTERM)
        rc = procs[worst].wait()
        say(f"member {worst} terminated (exit {rc}), takes over member {best}")
        shutil.copy(f"pop/{best}.pt", f"pop/{worst}.pt")
        os.remove(f"pop/{worst}.json")
        need = [n + EACH for n in need]
        need[worst] = EACH
        lrs[worst] = lrs[best] * random.choice([0.6, 1.6])
        procs[worst] = start(worst, lrs[worst])
    for p in procs:
        p.terminate()
        p.wait()
    best = f.index(max(f))
    shutil.copy(f"pop/{best}.pt", "best.pt")
    say(f"done, best.pt is member {best} with {f[best]:.3f}")


if __name__ == "__main__":
    main()
