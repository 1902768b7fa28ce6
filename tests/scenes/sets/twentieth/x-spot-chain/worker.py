import json
import os
import signal
import sys
import time

TOTAL, CKPT = 540, "run/state.pt"
stop = False


def on_usr1(*_):
    global stop
    stop = True


signal.signal(signal.SIGUSR1, on_usr1)  # before the slow imports: the slice may be short

import torch  # noqa: E402
from torch import nn  # noqa: E402

torch.set_num_threads(1)
os.makedirs("run", exist_ok=True)
net = nn.Sequential(nn.Linear(16, 64), nn.Tanh(), nn.Linear(64, 1))
opt = torch.optim.Adam(net.parameters(), lr=3e-3)
step = 0
if os.path.exists(CKPT):
    state = torch.load(CKPT)
    net.load_state_dict(state["net"])
    opt.load_state_dict(state["opt"])
    step = state["step"]
    print(json.dumps({"msg": "resumed", "step": step}), flush=True)


def save():
    torch.save({"net": net.state_dict(), "opt": opt.state_dict(), "step": step}, CKPT + ".tmp")
    os.replace(CKPT + ".tmp", CKPT)
    print(json.dumps({"msg": "checkpoint", "step": step, "path": CKPT}), flush=True)


while step < TOTAL:
    x = torch.randn(64, 16)
    loss = (net(x)[:, 0] - torch.sin(x[:, 0] * 2) - 0.5 * x[:, 1]).pow(2).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
    step += 1
    time.sleep(0.08)
    if step % 10 == 0:
        print(json.dumps({"step": step, "loss": round(loss.item(), 5), "of": TOTAL}), flush=True)
    if stop:
        print(json.dumps({"msg": "time slice is over, saving and leaving", "step": step}), flush=True)
        save()
        sys.exit(85)
save()
print(json.dumps({"msg": "complete", "step": step}), flush=True)
