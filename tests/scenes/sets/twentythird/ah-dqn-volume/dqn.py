"""DQN on CartPole with the whole replay buffer in the checkpoint (network volume, 150 KB/s)."""
import io
import os
import random
import time

import gymnasium as gym
import numpy as np
import torch
from torch import nn

torch.set_num_threads(1)
with open("pid", "w") as f:
    f.write(str(os.getpid()))
PATH, TOTAL = "volume/last.pt", 700
os.makedirs("volume", exist_ok=True)


def mk():
    return nn.Sequential(nn.Linear(4, 64), nn.ReLU(), nn.Linear(64, 2))


q, tgt = mk(), mk()
tgt.load_state_dict(q.state_dict())
opt = torch.optim.Adam(q.parameters(), lr=2e-3)
buf, n, first = np.zeros((8000, 11), np.float32), 0, 1
if os.path.exists(PATH):
    print(f"resuming from {PATH}", flush=True)
    c = torch.load(PATH, weights_only=False)
    q.load_state_dict(c["q"])
    tgt.load_state_dict(c["q"])
    opt.load_state_dict(c["opt"])
    buf, n, first = c["buf"], c["n"], c["step"] + 1


def save(step):
    print(f"writing checkpoint at step {step}", flush=True)
    b = io.BytesIO()
    torch.save({"q": q.state_dict(), "opt": opt.state_dict(), "buf": buf, "n": n, "step": step}, b)
    data = b.getvalue()
    with open(PATH, "wb") as f:
        for i in range(0, len(data), 30000):
            f.write(data[i:i + 30000])
            f.flush()
            os.fsync(f.fileno())
            time.sleep(0.2)
    print(f"checkpoint at step {step} written, {len(data)} bytes", flush=True)


env = gym.make("CartPole-v1")
obs, _ = env.reset(seed=first)
ret, rets = 0.0, []
for step in range(first, TOTAL + 1):
    eps = max(0.04, 1 - step / 120)
    for _ in range(40):
        with torch.no_grad():
            a = random.randrange(2) if random.random() < eps else q(torch.as_tensor(obs)).argmax().item()
        nxt, r, term, trunc, _ = env.step(a)
        buf[n % len(buf)] = [*obs, a, r, *nxt, float(term)]
        n += 1
        obs, ret = nxt, ret + r
        if term or trunc:
            rets.append(ret)
            obs, _ = env.reset()
            ret = 0.0
    for _ in range(8):
        m = torch.as_tensor(buf[np.random.randint(0, min(n, len(buf)), 64)])
        with torch.no_grad():
            y = m[:, 5] + 0.98 * (1 - m[:, 10]) * tgt(m[:, 6:10]).max(1).values
        loss = nn.functional.smooth_l1_loss(q(m[:, :4]).gather(1, m[:, 4:5].long()).squeeze(1), y)
        opt.zero_grad()
        loss.backward()
        opt.step()
    if step % 5 == 0:
        tgt.load_state_dict(q.state_dict())
    if step % 10 == 0:
        print(f"step {step}/{TOTAL} episodes {len(rets)} return(20) {np.mean(rets[-20:] or [0]):.1f} "
              f"loss {loss.item():.4f} eps {eps:.2f}", flush=True)
    if step % 60 == 0:
        save(step)
    time.sleep(0.17)
print("training complete", flush=True)
