import multiprocessing as mp, os, queue, time
import numpy as np

def worker(wid, q, limit):
    rng = np.random.default_rng(os.getpid())
    w = np.random.default_rng(0).normal(size=32)
    for _ in range(limit):
        x = rng.normal(size=(64, 32)); time.sleep(0.25)
        q.put((wid, x, (x @ w > 0).astype(float)))
    raise SystemExit(17)          # "please replace me"

def main():
    q = mp.Queue(8); procs = {}
    def spawn(w):
        p = mp.Process(target=worker, args=(w, q, 12), daemon=True); p.start(); procs[w] = p
        print(f"[pool] worker {w} up, pid {p.pid}", flush=True)
    for w in range(3): spawn(w)
    p = np.zeros(32); acc = []
    for step in range(1, 301):
        while True:
            try:
                wid, x, y = q.get(timeout=0.5); break
            except queue.Empty:
                pass
            for w, pr in list(procs.items()):
                if pr.exitcode is not None:
                    print(f"[pool] worker {w} pid {pr.pid} exited with 17 after 12 batches, recycling", flush=True); spawn(w)
        for w, pr in list(procs.items()):
            if pr.exitcode is not None:
                print(f"[pool] worker {w} pid {pr.pid} exited with {pr.exitcode} after 12 batches, recycling", flush=True); spawn(w)
        z = 1 / (1 + np.exp(-x @ p)); p -= 0.3 * x.T @ (z - y) / len(y)
        loss = -np.mean(y * np.log(z + 1e-9) + (1 - y) * np.log(1 - z + 1e-9)); acc.append(((z > .5) == y).mean())
        time.sleep(0.05)
        if step % 10 == 0:
            print(f"step={step} loss={loss:.4f} acc={np.mean(acc[-10:]):.3f}", flush=True)
    for pr in procs.values(): pr.terminate()
    np.save("weights.npy", p); print("finished, weights.npy written", flush=True)

if __name__ == "__main__":
    main()
