"""Trains for at most BUDGET_S seconds, saves, and asks for another turn with exit status 75."""
import json
import os
import sys
import time

os.environ.setdefault("OMP_NUM_THREADS", "1")
import torch

BUDGET_S, TOTAL = 16.0, 200
t0 = time.time()
torch.manual_seed(0)
net = torch.nn.Sequential(torch.nn.Linear(10, 40), torch.nn.ReLU(), torch.nn.Linear(40, 3))
opt = torch.optim.AdamW(net.parameters(), lr=2e-3)
step = 0
if os.path.exists("state.pt"):
    st = torch.load("state.pt", weights_only=True)
    net.load_state_dict(st["net"])
    opt.load_state_dict(st["opt"])
    step = st["step"]


def emit(**kw):
    print(json.dumps({"t": round(time.time(), 1), **kw}), flush=True)


emit(event="chunk_start", step=step, pid=os.getpid())
gen = torch.Generator().manual_seed(step)
while step < TOTAL and time.time() - t0 < BUDGET_S:
    x = torch.randn(32, 10, generator=gen)
    y = x[:, :3].argmax(1)
    loss = torch.nn.functional.cross_entropy(net(x), y)
    opt.zero_grad()
    loss.backward()
    opt.step()
    step += 1
    time.sleep(0.25)
    if step % 10 == 0:
        emit(step=step, loss=round(loss.item(), 4))
torch.save({"net": net.state_dict(), "opt": opt.state_dict(), "step": step}, "state.tmp")
os.replace("state.tmp", "state.pt")
emit(event="saved", step=step)
if step < TOTAL:
    emit(event="time_slice_over", step=step)
    sys.exit(75)
emit(event="finished", step=step)
