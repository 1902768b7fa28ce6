"""Q-learning from frames; the replay memory holds 26000 frames of 160x160."""
import json
import os
import time

import numpy as np
import psutil
import torch
from torch import nn

torch.set_num_threads(1)
torch.manual_seed(0)
rng = np.random.default_rng(0)
SIZE, SIDE = 26000, 160
frames = np.zeros((SIZE, SIDE, SIDE), np.uint8)
action, reward = np.zeros(SIZE, np.int64), np.zeros(SIZE, np.float32)
net = nn.Sequential(nn.Conv2d(1, 8, 8, 8), nn.ReLU(), nn.Conv2d(8, 16, 4, 4), nn.ReLU(), nn.Flatten(), nn.Linear(16 * 25, 3))
opt = torch.optim.Adam(net.parameters(), lr=1e-3)
me = psutil.Process()


def play(n, eps):
    """The paddle has to go where the ball is: left, middle, right."""
    f = rng.integers(0, 40, (n, SIDE, SIDE)).astype(np.uint8)
    col = rng.integers(0, 3, n)
    for i in range(n):
        r, c = rng.integers(10, 140), col[i] * 53 + rng.integers(5, 35)
        f[i, r:r + 9, c:c + 9] = 240
    with torch.no_grad():
        q = net(torch.from_numpy(f[:16, None].astype(np.float32) / 255))
    a = rng.integers(0, 3, n)
    greedy = q.argmax(1).numpy()
    use = rng.random(16) > eps
    a[:16][use] = greedy[use]
    return f, a, (a == col).astype(np.float32), float((a[:16] == col[:16]).mean())


def main():
    os.makedirs("ckpt", exist_ok=True)
    pos, filled, ret = 0, 0, 0.33
    for step in range(1, 421):
        f, a, r, got = play(96, max(0.05, 1 - step / 200))
        idx = (pos + np.arange(96)) % SIZE
        frames[idx], action[idx], reward[idx] = f, a, r
        pos, filled = (pos + 96) % SIZE, min(SIZE, filled + 96)
        for _ in range(3):
            b = rng.integers(0, filled, 32)
            q = net(torch.from_numpy(frames[b, None].astype(np.float32) / 255))
            loss = nn.functional.smooth_l1_loss(q[torch.arange(32), torch.from_numpy(action[b])], torch.from_numpy(reward[b]))
            opt.zero_grad()
            loss.backward()
            opt.step()
        ret = 0.95 * ret + 0.05 * got
        time.sleep(0.3)
        if step % 6 == 0:
            print(json.dumps({"step": step, "return": round(ret, 3), "loss": round(loss.item(), 4), "replay": round(filled / SIZE, 3),
                              "rss_mb": me.memory_info().rss >> 20}), flush=True)
        if step % 70 == 0:
            torch.save(net.state_dict(), f"ckpt/q_{step:04d}.pt")
            print(json.dumps({"step": step, "saved": f"ckpt/q_{step:04d}.pt"}), flush=True)
    print(json.dumps({"done": True, "return": round(ret, 3)}), flush=True)


if __name__ == "__main__":
    main()
