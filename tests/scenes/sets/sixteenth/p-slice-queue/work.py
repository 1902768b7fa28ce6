"""Train one experiment until SIGTERM ends its slice; exit 85 = 'put me back to the queue'."""
import argparse
import logging
import os
import signal
import sys
import time

p = argparse.ArgumentParser()
p.add_argument("name")
p.add_argument("--steps", type=int, default=90)
a = p.parse_args()
logging.basicConfig(level=logging.INFO, format=f"%(asctime)s {a.name} %(levelname)s %(message)s")
stop = False


def on_term(sig, frame):
    global stop
    logging.warning("caught SIGTERM, saving and leaving at the next step")
    stop = True


signal.signal(signal.SIGTERM, on_term)
import torch
from torch import nn

torch.set_num_threads(1)
torch.manual_seed(sum(map(ord, a.name)))
W = torch.randn(20, 1)
net = nn.Sequential(nn.Linear(20, 32), nn.Tanh(), nn.Linear(32, 1))
opt = torch.optim.Adam(net.parameters(), 5e-3)
path, step = f"state/{a.name}.pt", 0
if os.path.exists(path):
    s = torch.load(path)
    net.load_state_dict(s["net"]); opt.load_state_dict(s["opt"]); step = s["step"]
    logging.info("resumed from %s at step %d", path, step)
while step < a.steps:
    x = torch.randn(64, 20)
    loss = nn.functional.mse_loss(net(x), (x @ W).sin())
    opt.zero_grad(); loss.backward(); opt.step()
    step += 1
    time.sleep(0.3)
    if step % 5 == 0:
        logging.info("step %d/%d mse %.4f", step, a.steps, loss.item())
    if stop or step == a.steps:
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        torch.save({"net": net.state_dict(), "opt": opt.state_dict(), "step": step}, path + ".tmp")
        os.replace(path + ".tmp", path)
        logging.info("saved %s at step %d", path, step)
        if stop and step < a.steps:
            sys.exit(85)
logging.info("%s complete", a.name)
