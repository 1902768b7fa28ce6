"""Off-policy Q-learning on a grid world: 2 actors -> replay writer (owns the ring file) -> learner (samples it)."""
import argparse, ctypes, multiprocessing as mp, os, struct, time
import numpy as np
import torch
import torch.nn as nn

REC = struct.Struct("<HHBfHB")     # s, s2, action, reward, ms since start, done
CAP = 60000
SIZE = 12


def actor(idx, q, stop):
    ctypes.CDLL(None).prctl(1, 9)      # never outlive the learner
    r = np.random.default_rng(idx)
    t0, pos = time.time(), r.integers(0, SIZE * SIZE)
    while not stop.is_set():
        rows = []
        for _ in range(20):
            act = int(r.integers(0, 4))
            x, y = pos % SIZE, pos // SIZE
            x2, y2 = np.clip(x + (1, -1, 0, 0)[act], 0, SIZE - 1), np.clip(y + (0, 0, 1, -1)[act], 0, SIZE - 1)
            nxt = int(y2 * SIZE + x2)
            done = nxt == SIZE * SIZE - 1
            rows.append((int(pos), nxt, act, 1.0 if done else -0.01, int((time.time() - t0) * 1000), int(done)))
            pos = int(r.integers(0, SIZE * SIZE)) if done else nxt
        q.put(rows)
        time.sleep(0.1)


def replay_writer(q, stop, count):
    ctypes.CDLL(None).prctl(1, 9)
    n = 0
    with open("replay.bin", "r+b") as f:
        while not stop.is_set():
            for row in q.get():
                f.seek((n % CAP) * REC.size)
                f.write(REC.pack(*row))
                n += 1
            f.flush()
            count.value = n


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--updates", type=int, default=900)
    a = ap.parse_args()
    torch.manual_seed(0)
    torch.set_num_threads(1)
    with open("replay.bin", "wb") as f:
        f.truncate(CAP * REC.size)
    ctx = mp.get_context("fork")
    q, stop, count = ctx.Queue(maxsize=50), ctx.Event(), ctx.Value("q", 0)
    procs = [ctx.Process(target=actor, args=(i, q, stop), name=f"actor-{i}", daemon=True) for i in (1, 2)]
    procs.append(ctx.Process(target=replay_writer, args=(q, stop, count), name="replay-writer", daemon=True))
    for p in procs:
        p.start()
    net, tgt = (nn.Sequential(nn.Embedding(SIZE * SIZE, 32), nn.ReLU(), nn.Linear(32, 4)) for _ in range(2))
    tgt.load_state_dict(net.state_dict())
    opt = torch.optim.Adam(net.parameters(), 1e-3)
    dt = np.dtype([("s", "<u2"), ("s2", "<u2"), ("a", "u1"), ("r", "<f4"), ("ms", "<u2"), ("d", "u1")])
    ring = np.memmap("replay.bin", dtype=dt, mode="r")
    r = np.random.default_rng(1)
    while count.value < 1000:
        time.sleep(0.2)
    print("warm-up done, learning starts", flush=True)
    t0, wait = time.time(), 0.2
    for u in range(1, a.updates + 1):
        b = ring[r.integers(0, min(count.value, CAP), 64)]
        s, s2, act = (torch.from_numpy(b[k].astype(np.int64)) for k in ("s", "s2", "a"))
        rew, d = torch.from_numpy(b["r"].copy()), torch.from_numpy(b["d"].astype(np.float32))
        with torch.no_grad():
            y = rew + 0.97 * (1 - d) * tgt(s2).max(1).values
        loss = nn.functional.smooth_l1_loss(net(s).gather(1, act[:, None])[:, 0], y)
        opt.zero_grad()
        loss.backward()
        opt.step()
        time.sleep(wait)
        if u % 25 == 0:
            tgt.load_state_dict(net.state_dict())
            print(f"update={u} td_loss={loss.item():.5f} q_mean={y.mean().item():.3f} env_steps={count.value} "
                  f"upd_per_s={u / (time.time() - t0):.2f}", flush=True)
        if u % 150 == 0:
            torch.save(net.state_dict(), f"q_{u:05d}.pt")
    stop.set()
    print("learning finished", flush=True)


if __name__ == "__main__":
    main()
