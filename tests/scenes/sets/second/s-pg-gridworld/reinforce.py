"""policy gradient with a baseline on a small grid, numpy"""
import os
os.environ.setdefault("OMP_NUM_THREADS", "1")
import json
import sys
import time
import numpy as np

rng = np.random.default_rng(20)
SIZE, ACTIONS, HORIZON = 5, 4, 20
MOVES = np.array([[1, 0], [-1, 0], [0, 1], [0, -1]])
logits = np.zeros((SIZE, SIZE, ACTIONS))
value = np.zeros((SIZE, SIZE))


def softmax(z):
    e = np.exp(z - z.max())
    return e / e.sum()


def episode(goal):
    pos, steps = np.array([0, 0]), []
    for _ in range(HORIZON):
        p = softmax(logits[pos[0], pos[1]])
        a = rng.choice(ACTIONS, p=p)
        new = np.clip(pos + MOVES[a], 0, SIZE - 1)
        done = (new == goal).all()
        steps.append((pos[0], pos[1], a, p, 1.0 if done else -0.05))
        pos = new
        if done:
            break
    return steps


out = sys.stderr
goal = np.array([4, 4])
for it in range(1, 361):
    if it == 180:
        goal = np.array([0, 4])            # the task changes: the policy has to find the new goal
    pl, vl, ent, rew = [], [], [], []
    for _ in range(8):
        steps = episode(goal)
        ret = 0.0
        rew.append(sum(s[4] for s in steps))
        for r, c, a, p, x in reversed(steps):
            ret = x + 0.97 * ret
            adv = ret - value[r, c]
            pl.append(-adv * np.log(p[a] + 1e-12))
            vl.append(adv ** 2)
            ent.append(-(p * np.log(p + 1e-12)).sum())
            g = -p
            g[a] += 1
            logits[r, c] += 0.15 * adv * g + 0.02 * (-p * (np.log(p + 1e-12) + ent[-1]))
            value[r, c] += 0.1 * adv
    time.sleep(0.2)
    if it % 6 == 0:
        print(json.dumps({"iteration": it, "reward_mean": round(float(np.mean(rew)), 3), "policy_loss": round(float(np.mean(pl)), 4),
                          "value_loss": round(float(np.mean(vl)), 4), "entropy": round(float(np.mean(ent)), 3),
                          "explained_variance": round(1 - float(np.mean(vl) / (np.var(rew) + 1e-6)), 2),
                          "kl": round(abs(float(np.mean(pl))) * 0.1, 4)}), file=out, flush=True)
    if it % 120 == 0:
        np.savez(f"policy_{it}.npz", logits=logits, value=value)
print(json.dumps({"event": "end"}), file=out)
