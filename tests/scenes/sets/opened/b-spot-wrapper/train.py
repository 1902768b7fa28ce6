import json
import os
import sys
import time

os.environ.setdefault("OMP_NUM_THREADS", "1")
import torch

BATCH, STEPS = 8, 480
torch.manual_seed(0)
model = torch.nn.Sequential(torch.nn.Linear(8, 32), torch.nn.ReLU(), torch.nn.Linear(32, 1))
opt = torch.optim.Adam(model.parameters(), lr=1e-3)
step = 0
if os.path.exists("last.pt"):
    ck = torch.load("last.pt", weights_only=True)
    model.load_state_dict(ck["model"])
    opt.load_state_dict(ck["opt"])
    step = ck["step"]
    print(f"resumed from last.pt at step {step}", file=sys.stderr, flush=True)
lines = open("train.jsonl").read().splitlines()
while step < STEPS:
    rows = [json.loads(s) for s in lines[step * BATCH:(step + 1) * BATCH]]
    x = torch.tensor([r["x"] for r in rows])
    y = torch.tensor([[r["y"]] for r in rows])
    loss = torch.nn.functional.mse_loss(model(x), y)
    opt.zero_grad()
    loss.backward()
    opt.step()
    step += 1
    time.sleep(0.2)
    print(f"step={step} loss={loss.item():.5f}", file=sys.stderr, flush=True)
    if step % 80 == 0:
        torch.save({"model": model.state_dict(), "opt": opt.state_dict(), "step": step}, "last.pt.tmp")
        os.replace("last.pt.tmp", "last.pt")
print("all steps done", file=sys.stderr)
