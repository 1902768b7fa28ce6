"""PPO on cart-pole, tables as in the usual library."""
import os
import time

import numpy as np
import torch
import torch.nn as nn

PAUSE = float(os.environ.get("PAUSE", "0.8"))
torch.set_num_threads(1)
torch.manual_seed(0)
rng = np.random.default_rng(0)
N, T, TOTAL = 8, 64, 92_000


class Carts:
    """N cart-poles at once."""

    def __init__(self, n):
        self.s, self.steps, self.ret = rng.uniform(-0.05, 0.05, (n, 4)), np.zeros(n, int), np.zeros(n)
        self.done_returns = []

    def step(self, a):
        x, v, th, w = self.s.T
        f = np.where(a == 1, 10.0, -10.0)
        c, s = np.cos(th), np.sin(th)
        tmp = (f + 0.05 * w * w * s) / 1.1
        wa = (9.8 * s - c * tmp) / (0.5 * (4 / 3 - 0.1 * c * c / 1.1))
        va = tmp - 0.05 * wa * c / 1.1
        self.s = np.stack([x + 0.02 * v, v + 0.02 * va, th + 0.02 * w, w + 0.02 * wa], 1)
        self.steps += 1
        self.ret += 1
        done = (np.abs(self.s[:, 0]) > 2.4) | (np.abs(self.s[:, 2]) > 0.2095) | (self.steps >= 500)
        for i in np.flatnonzero(done):
            self.done_returns.append(self.ret[i])
            self.s[i], self.steps[i], self.ret[i] = rng.uniform(-0.05, 0.05, 4), 0, 0
        return np.ones(len(a), np.float32), done.astype(np.float32)


def table(groups):
    rows = []
    for head, items in groups.items():
        rows.append((f"{head}/", ""))
        rows += [(f"   {k}", f"{v:.3g}" if isinstance(v, float) else str(v)) for k, v in items.items()]
    bar = "-" * 41
    print("\n".join([bar, *[f"| {k:<22} | {v:<12} |" for k, v in rows], bar]), flush=True)


pi = nn.Sequential(nn.Linear(4, 64), nn.Tanh(), nn.Linear(64, 64), nn.Tanh(), nn.Linear(64, 2))
vf = nn.Sequential(nn.Linear(4, 64), nn.Tanh(), nn.Linear(64, 64), nn.Tanh(), nn.Linear(64, 1))
params = [*pi.parameters(), *vf.parameters()]
opt = torch.optim.Adam(params, 1e-3)
env, it, started = Carts(N), 0, time.time()
print("Using cpu device", flush=True)
while it * N * T < TOTAL:
    it += 1
    O, A, L, R, D, V = [], [], [], [], [], []
    for _ in range(T):
        o = torch.tensor(env.s, dtype=torch.float32)
        with torch.no_grad():
            d = torch.distributions.Categorical(logits=pi(o))
            a = d.sample()
            V.append(vf(o).squeeze(1))
            L.append(d.log_prob(a))
        r, done = env.step(a.numpy())
        O.append(o), A.append(a), R.append(torch.tensor(r)), D.append(torch.tensor(done))
    with torch.no_grad():
        nxt, g, adv = vf(torch.tensor(env.s, dtype=torch.float32)).squeeze(1), 0, []
        for t in reversed(range(T)):
            g = R[t] + 0.98 * (1 - D[t]) * nxt - V[t] + 0.98 * 0.95 * (1 - D[t]) * g
            nxt = V[t]
            adv.insert(0, g)
    O, A, L, V, adv = (torch.cat(z) for z in (O, A, L, V, adv))
    ret = adv + V
    adv = (adv - adv.mean()) / (adv.std() + 1e-8)
    for _ in range(6):
        for b in torch.randperm(len(O)).split(128):
            d = torch.distributions.Categorical(logits=pi(O[b]))
            ratio = (d.log_prob(A[b]) - L[b]).exp()
            pg = -torch.min(ratio * adv[b], ratio.clamp(0.8, 1.2) * adv[b]).mean()
            vl = (vf(O[b]).squeeze(1) - ret[b]).square().mean()
            loss = pg + 0.5 * vl
            opt.zero_grad()
            loss.backward()
            nn.utils.clip_grad_norm_(params, 0.5)
            opt.step()
    time.sleep(PAUSE)
    with torch.no_grad():
        lr = torch.distributions.Categorical(logits=pi(O)).log_prob(A) - L
        kl = (lr.exp() - 1 - lr).mean().item()
    seen = env.done_returns[-50:] or [0.0]
    spent = time.time() - started
    table({
        "rollout": {"ep_len_mean": float(np.mean(seen)), "ep_rew_mean": float(np.mean(seen))},
        "time": {"fps": int(it * N * T / spent), "iterations": it, "time_elapsed": int(spent), "total_timesteps": it * N * T},
        "train": {
            "approx_kl": kl, "clip_fraction": ((lr.exp() - 1).abs() > 0.2).float().mean().item(), "entropy_loss": -d.entropy().mean().item(),
            "explained_variance": (1 - (ret - V).var() / ret.var()).item(), "learning_rate": 1e-3, "loss": loss.item(),
            "policy_gradient_loss": pg.item(), "value_loss": vl.item(),
        },
    })
torch.save({"pi": pi.state_dict(), "vf": vf.state_dict()}, "ppo_cartpole.pt")
print("saved ppo_cartpole.pt", flush=True)
