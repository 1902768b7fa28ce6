import json
import os
import queue
import signal
import subprocess
import sys
import threading
import time

signal.alarm(300)                            # a test box: never stay longer than five minutes
GRID = [(0.05, 25), (0.1, 30), (4.0, 30), (0.2, 30), (6.0, 30), (0.15, 30), (0.3, 30), (0.02, 30), (0.08, 30), (0.25, 30)]
todo, done = queue.Queue(), queue.Queue()


def say(text):
    print(f"{time.strftime('%H:%M:%S')} {text}", flush=True)


def slot(name):
    while True:
        try:
            number, (lr, steps) = todo.get_nowait()
        except queue.Empty:
            return
        say(f"{name}: trial {number} starts (lr={lr})")
        with open(f"logs/trial_{number:02d}.log", "w") as log:
            subprocess.run([sys.executable, "trial.py", "--id", str(number), "--lr", str(lr), "--steps", str(steps)],
                           stdout=log, stderr=subprocess.STDOUT)
        with open(f"results/trial_{number:02d}.json") as f:
            result = json.load(f)
        say(f"{name}: trial {number} loss {result['loss']:.5f}")
        done.put(result)


def main():
    os.makedirs("logs", exist_ok=True)
    os.makedirs("results", exist_ok=True)
    for item in enumerate(GRID):
        todo.put(item)
    say(f"sweep of {len(GRID)} trials on 2 slots")
    for i in range(2):
        threading.Thread(target=slot, args=(f"slot-{i}",), name=f"slot-{i}").start()
        time.sleep(1)
    best = None
    for n in range(1, len(GRID) + 1):
        result = done.get()
        if best is None or result["loss"] < best["loss"]:
            best = result
        say(f"{n}/{len(GRID)} trials done, best so far lr={best['lr']} loss {best['loss']:.5f}")
    say(f"sweep finished, best {json.dumps(best)}")


if __name__ == "__main__":
    main()
