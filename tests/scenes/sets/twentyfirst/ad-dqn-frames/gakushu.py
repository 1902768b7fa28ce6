"""画像フレームの DQN。リプレイバッファは 24000 フレームまで。"""
import logging
import resource
from collections import deque
import time

import numpy as np
import torch
import torch.nn as nn

logging.basicConfig(level=logging.INFO, format="%(asctime)s %(levelname)s %(message)s")
log = logging.getLogger("dqn")
torch.set_num_threads(1)
torch.manual_seed(1)
rng = np.random.default_rng(1)
CAP, PER = 24000, 200
net = lambda: nn.Sequential(nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 3))
q, tgt = net(), net()
tgt.load_state_dict(q.state_dict())
opt = torch.optim.Adam(q.parameters(), 7e-4)
buf = deque(maxlen=CAP)
w = rng.normal(size=(64, 3)) / 8


def frame():
    f = np.zeros((84, 84, 4), np.uint8)
    f[:8, :8, 0] = rng.integers(0, 256, (8, 8))
    f[8:, :, 1:] = 17
    return f


def feat(f):
    return (f[:8, :8, 0].reshape(64).astype(np.float32) - 128) / 74


f = frame()
log.info("学習開始 更新回数=260 バッファ上限=%d", CAP)
for step in range(1, 261):
    eps, got = max(0.05, 1 - step / 150), 0.0
    for _ in range(PER):
        x = feat(f)
        with torch.no_grad():
            a = int(q(torch.from_numpy(x)).argmax()) if rng.random() > eps else int(rng.integers(3))
        r = float((x @ w)[a] + 0.3)
        g = frame()
        buf.append((f, a, r))
        f, got = g, got + r
    for _ in range(6):
        j = rng.integers(0, len(buf) - 1, 64)
        S = torch.from_numpy(np.stack([feat(buf[k][0]) for k in j]))
        N = torch.from_numpy(np.stack([feat(buf[k + 1][0]) for k in j]))
        A, R = torch.tensor([buf[k][1] for k in j]), torch.tensor([buf[k][2] for k in j])
        with torch.no_grad():
            y = R + 0.9 * tgt(N).max(1).values
        qs = q(S)[torch.arange(64), A]
        loss = nn.functional.mse_loss(qs, y)
        opt.zero_grad(); loss.backward(); opt.step()
    if step % 8 == 0:
        tgt.load_state_dict(q.state_dict())
    time.sleep(0.3)
    if step % 2 == 0:
        mb = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
        log.info("更新 %d/260 損失=%.4f 平均Q=%.3f 報酬=%.3f バッファ=%d メモリ=%.0fMB", step, loss.item(), qs.mean().item(), got / PER, len(buf), mb)
    if step % 50 == 0:
        torch.save(q.state_dict(), f"q_{step}.pt")
        log.info("保存 q_%d.pt", step)
log.info("学習終了")
