"""Small causal LM; resumes from bucket/last.pt. The bucket mount takes some 1 MB/s, so saving is paced."""
import io
import os
import time

import torch
import torch.nn as nn
import torch.nn.functional as F

os.makedirs("bucket", exist_ok=True)
LAST = "bucket/last.pt"
with open("pid", "w") as f:
    f.write(str(os.getpid()))
torch.manual_seed(4)
V, T, B, D, TOTAL = 64, 32, 8, 192, 420
net = nn.Sequential(nn.Embedding(V, D), nn.Linear(D, 4 * D), nn.GELU(), nn.Linear(4 * D, D), nn.LayerNorm(D), nn.Linear(D, V))
opt = torch.optim.AdamW(net.parameters(), 5e-4)
start = 0
if os.path.exists(LAST):
    print(f"resuming from {LAST}")
    state = torch.load(LAST, weights_only=True)
    net.load_state_dict(state["net"])
    opt.load_state_dict(state["opt"])
    start = state["step"]
    print(f"resumed at step {start}")


def save(step):
    buf = io.BytesIO()
    torch.save({"net": net.state_dict(), "opt": opt.state_dict(), "step": step}, buf)
    data = buf.getvalue()
    print(f"saving {LAST} at step {step} ({len(data) / 1e6:.1f} MB)")
    part = len(data) // 12 + 1
    with open(LAST, "wb") as f:
        for i in range(0, len(data), part):
            f.write(data[i:i + part])
            f.flush()
            os.fsync(f.fileno())
            time.sleep(0.35)
    print(f"saved {LAST} at step {step}")


for step in range(start + 1, TOTAL + 1):
    s = torch.randint(0, V, (B, 1))
    x = (s + torch.arange(T + 1) * torch.randint(1, 4, (B, 1))) % V
    loss = F.cross_entropy(net(x[:, :-1]).flatten(0, 1), x[:, 1:].flatten())
    opt.zero_grad()
    loss.backward()
    opt.step()
    time.sleep(0.27)
    if step % 10 == 0:
        print(f"step {step}/{TOTAL} | loss {loss.item():.4f} | ppl {loss.exp().item():.2f}")
    if step % 45 == 0:
        save(step)
print("training complete")
