import os
os.environ.setdefault("OMP_NUM_THREADS", "1")
import sys
import time
import torch
from torch import nn

torch.set_num_threads(1)
torch.manual_seed(77)
SLICE_S, TOTAL = 20, 420
t_start = time.time()
model = nn.Sequential(nn.Embedding(120, 40), nn.Linear(40, 120))
opt = torch.optim.AdamW(model.parameters(), lr=4e-3)
step = 0
if os.path.exists("last.pt"):
    ck = torch.load("last.pt")
    model.load_state_dict(ck["model"])
    opt.load_state_dict(ck["opt"])
    step = ck["step"]
    print(f">>> 从第 {step} 步恢复", flush=True)
else:
    print(">>> 从头开始", flush=True)
while step < TOTAL:
    x = torch.randint(0, 120, (64,))
    loss = nn.functional.cross_entropy(model(x), (x * 11 + 5) % 120)
    opt.zero_grad()
    loss.backward()
    opt.step()
    step += 1
    time.sleep(0.13)
    if step % 20 == 0:
        print(f"第 {step} 步 / 共 {TOTAL} 步  损失 {loss.item():.4f}", flush=True)
    if time.time() - t_start > SLICE_S and step < TOTAL:
        torch.save({"model": model.state_dict(), "opt": opt.state_dict(), "step": step}, "last.pt.tmp")
        os.replace("last.pt.tmp", "last.pt")
        print(f">>> 时间片用完，在第 {step} 步保存，退出码 42", flush=True)
        sys.exit(42)
torch.save(model.state_dict(), "final.pt")
print(">>> 训练完成", flush=True)
