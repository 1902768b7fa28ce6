"""REINFORCE with a value baseline on CartPole, numpy only (the exercise of the reading group grew)."""
import json
import sys
import time
import tomllib

import gymnasium as gym
import numpy as np

GAMMA, EPISODES, HORIZON = 0.99, 5, 200


def features(o):
    o = o / np.array([2.4, 2.0, 0.21, 2.0])
    return np.concatenate([o, o * np.abs(o), [o[0] * o[2], o[1] * o[3], 1.0]])


def softmax(z):
    z = np.exp(z - z.max())
    return z / z.sum()


def main():
    rng = np.random.default_rng(4)
    env = gym.make("CartPole-v1", max_episode_steps=HORIZON)
    w = np.zeros((11, 2))
    v = np.zeros(11)
    m = np.zeros_like(w)
    sq = np.zeros_like(w)
    n, frames = 0, 0
    for stage in tomllib.load(open("stages.toml", "rb"))["stage"]:
        print(json.dumps({"event": "stage", **stage}), flush=True)
        for _ in range(stage["updates"]):
            n += 1
            grad, returns, ent = np.zeros_like(w), [], []
            for _ in range(EPISODES):
                o, _ = env.reset(seed=int(rng.integers(1 << 30)))
                fs, gs, rs = [], [], []
                done = False
                while not done:
                    f = features(o)
                    p = softmax(f @ w)
                    a = int(rng.random() < p[1])
                    o, r, term, trunc, _ = env.step(a)
                    done = term or trunc
                    fs.append(f), rs.append(r), gs.append(np.outer(f, np.eye(2)[a] - p))
                    ent.append(-(p * np.log(p + 1e-12)).sum())
                g = np.zeros(len(rs))
                acc = 0.0
                for i in reversed(range(len(rs))):
                    acc = rs[i] + GAMMA * acc
                    g[i] = acc
                fs = np.array(fs)
                adv = g - fs @ v
                v += 0.5 * fs.T @ adv / (len(g) * 10)
                grad += (np.array(gs) * adv[:, None, None]).sum(0) / (1 + adv.std())
                returns.append(sum(rs))
                frames += len(rs)
            grad /= EPISODES
            m = 0.9 * m + 0.1 * grad
            sq = 0.99 * sq + 0.01 * grad**2
            w += stage["lr"] * m / (np.sqrt(sq) + 1e-6)
            time.sleep(0.2)
            print(json.dumps({"update": n, "frames": frames, "return_mean": round(float(np.mean(returns)), 2),
                              "return_min": min(returns), "entropy": round(float(np.mean(ent)), 4)}), flush=True)
            if n % 50 == 0:
                np.savez("policy.npz", w=w, v=v, n=n)
                print(json.dumps({"event": "saved", "path": "policy.npz"}), flush=True)


if __name__ == "__main__":
    sys.exit(main())
