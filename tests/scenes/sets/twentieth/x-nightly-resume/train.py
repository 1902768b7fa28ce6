import logging
import os
import time

import torch
from torch import nn

from saving import load, log, save

logging.basicConfig(level=logging.INFO, format="%(asctime)s %(process)d %(name)s %(levelname)s %(message)s")
torch.set_num_threads(1)
TOTAL = 2000

with open("share/train.pid", "w") as f:
    f.write(str(os.getpid()))

net = nn.Sequential(nn.Linear(128, 512), nn.ReLU(), nn.Linear(512, 512), nn.ReLU(), nn.Linear(512, 10))
opt = torch.optim.AdamW(net.parameters(), lr=5e-4)
step = 0
if (state := load("share/latest.pt")) is not None:
    net.load_state_dict(state["net"])
    opt.load_state_dict(state["opt"])
    step = state["step"]
log.info("starting at step %d of %d", step, TOTAL)
g = torch.Generator().manual_seed(99)
proj = torch.randn(128, 10, generator=g)
while step < TOTAL:
    x = torch.randn(32, 128)
    loss = nn.functional.cross_entropy(net(x), (x @ proj).argmax(1))
    opt.zero_grad()
    loss.backward()
    opt.step()
    step += 1
    time.sleep(0.07)
    if step % 10 == 0:
        log.info("step %d loss %.4f", step, loss.item())
    if step % 80 == 0:
        save("share/latest.pt", step=step, net=net.state_dict(), opt=opt.state_dict())
log.info("done")
