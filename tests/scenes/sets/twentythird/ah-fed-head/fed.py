# 联邦学习:三个客户端,先只训练输出层,之后解冻全部网络
import multiprocessing as mp
import sys
import time

import numpy as np
from sklearn.datasets import load_digits

ROUNDS, WARM, CLIENTS, H = 90, 42, 3, 256


def softmax(z):
    z = np.exp(z - z.max(1, keepdims=True))
    return z / z.sum(1, keepdims=True)


def client(cid, w, x, y, full, q):
    rng = np.random.default_rng(cid)
    w = {k: v.copy() for k, v in w.items()}
    start = {k: v.copy() for k, v in w.items()}
    for _ in range(12):
        i = rng.integers(0, len(x), 64)
        h = np.maximum(x[i] @ w["w1"] + w["b1"], 0)
        p = softmax(h @ w["w2"] + w["b2"])
        p[np.arange(64), y[i]] -= 1
        p /= 64
        gh = (p @ w["w2"].T) * (h > 0)
        w["w2"] -= 0.1 * h.T @ p
        w["b2"] -= 0.1 * p.sum(0)
        if full:
            w["w1"] -= 0.1 * x[i].T @ gh
            w["b1"] -= 0.1 * gh.sum(0)
        time.sleep(0.06)
    keys = ["w1", "b1", "w2", "b2"] if full else ["w2", "b2"]
    q.put((cid, {k: (w[k] - start[k]).astype(np.float32) for k in keys}))


def main():
    x, y = load_digits(return_X_y=True)
    x = (x / 16).astype(np.float32)
    rng = np.random.default_rng(0)
    idx = rng.permutation(len(x))
    test, parts = idx[:300], np.array_split(idx[300:], CLIENTS)
    w = {"w1": rng.normal(0, 0.15, (64, H)).astype(np.float32), "b1": np.zeros(H, np.float32),
         "w2": rng.normal(0, 0.05, (H, 10)).astype(np.float32), "b2": np.zeros(10, np.float32)}
    print(f"服务器启动:{CLIENTS} 个客户端,共 {ROUNDS} 轮,第 {WARM + 1} 轮起训练全部层", flush=True)
    ctx = mp.get_context("fork")
    for r in range(1, ROUNDS + 1):
        q = ctx.Queue()
        procs = [ctx.Process(target=client, args=(c, w, x[parts[c]], y[parts[c]], r > WARM, q)) for c in range(CLIENTS)]
        for p in procs:
            p.start()
        for p in procs:
            p.join()
        got = [q.get() for _ in procs]
        for k in got[0][1]:
            w[k] = w[k] + np.mean([g[k] for _, g in got], 0)
        h = np.maximum(x[test] @ w["w1"] + w["b1"], 0)
        p = softmax(h @ w["w2"] + w["b2"])
        acc = (p.argmax(1) == y[test]).mean()
        loss = -np.log(p[np.arange(len(test)), y[test]] + 1e-9).mean()
        print(f"第 {r} 轮 聚合完成 测试损失 {loss:.4f} 准确率 {acc:.4f}", flush=True)
        if r % 10 == 0:
            np.savez(f"global_{r:03d}.npz", **w)
            print(f"已保存 global_{r:03d}.npz", flush=True)
        if r == WARM:
            print("热身结束,解冻全部层", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
