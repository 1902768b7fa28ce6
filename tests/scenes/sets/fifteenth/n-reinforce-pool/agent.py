# -*- coding: utf-8 -*-
"""REINFORCE 倒立摆, 多进程采样"""
import multiprocessing as mp
import os
import time

import numpy as np

N_WORKERS = 3
ROLLOUTS = 9
ITERS = 400


def rollout(job):
    w, seed = job
    rng = np.random.default_rng(seed)
    s = rng.uniform(-0.05, 0.05, 4)
    grads, total = np.zeros_like(w), 0.0
    for t in range(200):
        p = 1 / (1 + np.exp(-s @ w))
        a = rng.random() < p
        grads += ((1.0 if a else 0.0) - p) * s
        x, xd, th, thd = s
        f = 10.0 if a else -10.0
        tmp = (f + 0.05 * thd ** 2 * np.sin(th)) / 1.1
        tha = (9.8 * np.sin(th) - np.cos(th) * tmp) / (0.5 * (4 / 3 - 0.1 * np.cos(th) ** 2 / 1.1))
        xa = tmp - 0.05 * tha * np.cos(th) / 1.1
        s = s + 0.02 * np.array([xd, xa, thd, tha])
        total += 1.0
        time.sleep(0.0015)  # 渲染
        if abs(s[0]) > 2.4 or abs(s[2]) > 0.21:
            break
    time.sleep(0.15)
    return total, grads


def main():
    with open("agent.pid", "w") as f:
        f.write(str(os.getpid()))
    rng = np.random.default_rng(7)
    w = rng.normal(0, 0.1, 4)
    baseline = 0.0
    print(f"开始训练: {N_WORKERS} 个采样进程, 每轮 {ROLLOUTS} 条轨迹", flush=True)
    with mp.Pool(N_WORKERS) as pool:
        for it in range(1, ITERS + 1):
            t0 = time.time()
            out = pool.map(rollout, [(w, int(s)) for s in rng.integers(1 << 30, size=ROLLOUTS)], chunksize=1)
            ret = np.array([r for r, _ in out])
            g = sum((r - baseline) * g for r, g in out) / len(out)
            baseline = 0.9 * baseline + 0.1 * ret.mean()
            w = w + 0.02 * g / (1 + np.linalg.norm(g) / 5)
            print(f"[{time.strftime('%H:%M:%S')}] 第 {it} 轮 平均回报 {ret.mean():.1f} 最大 {ret.max():.0f} 基线 {baseline:.1f} 用时 {time.time() - t0:.2f}s", flush=True)
            if it % 20 == 0:
                np.save("policy.npy", w)
    print("训练结束", flush=True)


if __name__ == "__main__":
    main()
