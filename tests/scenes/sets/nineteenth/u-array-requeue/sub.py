import argparse, os, signal, subprocess, sys, time
p = argparse.ArgumentParser(); p.add_argument("--array"); p.add_argument("--max-running", type=int); a = p.parse_args()
lo, hi = map(int, a.array.split("-")); queue = list(range(lo, hi + 1)); run, state, t0, pre = {}, {i: "PD" for i in queue}, time.time(), False
os.makedirs("logs", exist_ok=True)
def show(): print(f"{time.time() - t0:6.1f}s  " + "  ".join(f"{i}:{s}" for i, s in state.items()))
print("submitted array job 4711, tasks", a.array); last = 0
while queue or run:
    while queue and len(run) < a.max_running:
        i = queue.pop(0); run[i] = (subprocess.Popen([sys.executable, "-u", "task.py", str(i)], stdout=open(f"logs/4711_{i}.out", "a"), stderr=subprocess.STDOUT), time.time()); state[i] = "R"; print(f"task {i} started on node{len(run):02d}, log logs/4711_{i}.out")
    for i, (pr, t) in list(run.items()):
        if not pre and i == 1 and time.time() - t > 7 and os.path.exists("logs/4711_1.out") and "step 20" in open("logs/4711_1.out").read():
            print("task 1 PREEMPTED by a job of higher priority (SIGUSR1 sent)"); pr.send_signal(signal.SIGUSR1); pre = True
        if (rc := pr.poll()) is not None:
            del run[i]
            if rc == 99: state[i] = "PD"; queue.append(i); print(f"task {i} exit 99: requeued")
            else: state[i] = "CD" if rc == 0 else "F"; print(f"task {i} exit {rc}")
    if time.time() - last > 3: show(); last = time.time()
    time.sleep(.3)
show(); sys.exit(any(s == "F" for s in state.values()))
