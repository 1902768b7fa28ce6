"""REINFORCE with a baseline on a noisy trading toy: rewards are fat-tailed, the curve is wild."""
import sys
import time

import numpy as np

rng = np.random.default_rng(2024)
S, A, EP = 6, 4, 40
W_true = rng.normal(size=(S, A))
theta = np.zeros((S, A))
baseline, lr = 0.0, 0.004
ITERS = 300


def rollout():
    s = rng.normal(size=(EP, S))
    z = s @ theta
    p = np.exp(z - z.max(1, keepdims=True))
    p /= p.sum(1, keepdims=True)
    a = np.array([rng.choice(A, p=q) for q in p])
    r = (s @ W_true)[np.arange(EP), a] + 6.0 * rng.standard_t(3, EP)
    return s, a, p, r


best = -1e9
for it in range(1, ITERS + 1):
    t0 = time.time()
    grads, returns, ents, losses = 0, [], [], []
    for _ in range(8):
        s, a, p, r = rollout()
        adv = r - baseline
        onehot = np.eye(A)[a]
        grads = grads + s.T @ ((onehot - p) * adv[:, None]) / EP
        losses.append(-(np.log(p[np.arange(EP), a]) * adv).mean())
        ents.append(-(p * np.log(p)).sum(1).mean())
        returns.append(r.sum())
    theta += lr * grads
    baseline = 0.95 * baseline + 0.05 * float(np.mean(returns)) / EP
    best = max(best, np.mean(returns))
    time.sleep(0.25)
    sys.stdout.write(
        f"| iter {it:4d} | ep_rew_mean {np.mean(returns):9.2f} | ep_rew_min {np.min(returns):9.2f} | best {best:8.2f} "
        f"| policy_loss {np.mean(losses):8.4f} | entropy {np.mean(ents):.3f} | fps {8 * EP / (time.time() - t0):6.0f} |\n")
    sys.stdout.flush()
np.save("theta.npy", theta)
print("Finished learning, policy in theta.npy")
