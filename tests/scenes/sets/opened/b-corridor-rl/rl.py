"""Two actors play, one learner learns (REINFORCE on a corridor)."""
import multiprocessing as mp
import os
import time

os.environ.setdefault("OMP_NUM_THREADS", "1")
import numpy as np

LENGTH, ITERS = 12, 300


def play(theta, rng):
    pos, steps, states, acts = 0, 0, [], []
    while pos < LENGTH and steps < 60:
        p = 1 / (1 + np.exp(-theta[pos]))
        a = int(rng.random() < p)
        states.append(pos)
        acts.append(a)
        pos = max(0, pos + (1 if a else -1))
        steps += 1
    return states, acts, (1.0 if pos >= LENGTH else 0.0) - 0.01 * steps


def actor(k, weights, rollouts):
    with open(f"actor{k}.pid", "w") as f:
        f.write(str(os.getpid()))
    rng = np.random.default_rng(k)
    while True:
        theta = weights.get()
        batch = []
        for _ in range(16):
            batch.append(play(theta, rng))
            time.sleep(0.02)
        rollouts.put(batch)


def main():
    ctx = mp.get_context("fork")
    chans = [(ctx.Queue(2), ctx.Queue(2)) for _ in range(2)]
    for k, (w, r) in enumerate(chans):
        ctx.Process(target=actor, args=(k, w, r), daemon=True, name=f"actor-{k}").start()
    theta, base = np.zeros(LENGTH), 0.0
    print("+-------+----------+---------+--------+", flush=True)
    print("| iter  | ep_rew   | ep_len  | fps    |", flush=True)
    print("+-------+----------+---------+--------+", flush=True)
    for it in range(1, ITERS + 1):
        t0 = time.time()
        for w, _ in chans:
            w.put(theta.copy())
        batch = [ep for _, r in chans for ep in r.get()]
        rews = [e[2] for e in batch]
        base += 0.1 * (np.mean(rews) - base)
        grad = np.zeros(LENGTH)
        for states, acts, rew in batch:
            for s, a in zip(states, acts):
                grad[s] += (rew - base) * (a - 1 / (1 + np.exp(-theta[s])))
        theta += 0.05 * grad / len(batch)
        frames = sum(len(e[0]) for e in batch)
        print(f"| {it:<5d} | {np.mean(rews):<8.3f} | {frames / len(batch):<7.1f} | {frames / (time.time() - t0):<6.0f} |", flush=True)
        if it % 50 == 0:
            np.save("theta.npy", theta)
    print("+-------+----------+---------+--------+", flush=True)


if __name__ == "__main__":
    main()
