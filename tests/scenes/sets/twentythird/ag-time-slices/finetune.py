"""Fine-tuning in time slices: on SIGTERM save and leave, go on in the next slice."""
import os
import signal
import sys
import time

import torch
import torch.nn as nn

stop = False


def on_term(signum, frame):
    global stop
    stop = True
    print(f"caught signal {signum}, saving after this step")


signal.signal(signal.SIGTERM, on_term)
torch.manual_seed(0)
os.makedirs("state", exist_ok=True)
net = nn.Sequential(nn.Embedding(100, 48), nn.Flatten(), nn.Linear(48 * 8, 64), nn.ReLU(), nn.Linear(64, 100))
opt = torch.optim.Adam(net.parameters(), 2e-3)
first, TOTAL = 1, 360
if os.path.exists("state/last.pt"):
    s = torch.load("state/last.pt")
    net.load_state_dict(s["net"])
    opt.load_state_dict(s["opt"])
    torch.set_rng_state(s["rng"])
    first = s["step"] + 1
    print(f"resuming at step {first}")


def save(step):
    torch.save({"net": net.state_dict(), "opt": opt.state_dict(), "step": step, "rng": torch.get_rng_state()}, "state/tmp.pt")
    os.replace("state/tmp.pt", "state/last.pt")
    print(f"saved state/last.pt at step {step}")


for step in range(first, TOTAL + 1):
    x = torch.randint(0, 100, (32, 8))
    loss = nn.functional.cross_entropy(net(x), x[:, 3])
    opt.zero_grad()
    loss.backward()
    opt.step()
    time.sleep(0.29)
    if step % 10 == 0:
        print(f"step {step}/{TOTAL} loss {loss.item():.4f}")
    if step % 50 == 0:
        save(step)
    if stop:
        save(step)
        print("terminated by the scheduler, leaving with 85")
        sys.exit(85)
open("state/DONE", "w").close()
print("finished")
