import logging
import time

import torch
from torch import nn
import storage

torch.set_num_threads(1)
logging.basicConfig(level=logging.INFO, format="%(asctime)s.%(msecs)03d %(levelname)s [%(module)s] %(message)s", datefmt="%d.%m. %H:%M:%S")
log = logging.getLogger()
torch.manual_seed(8)
net = nn.Sequential(nn.Linear(64, 256), nn.SiLU(), nn.Linear(256, 256), nn.SiLU(), nn.Linear(256, 10))
w = torch.randn(64, 10)
opt = torch.optim.AdamW(net.parameters(), 1e-3)
warm = torch.optim.lr_scheduler.LinearLR(opt, 0.05, 1.0, 60)
log.info("run7: 360 steps, checkpoint every 120 steps to %s", storage.SHARE)
for step in range(1, 361):
    x = torch.randn(32, 64)
    loss = nn.functional.cross_entropy(net(x), (x @ w).argmax(1))
    opt.zero_grad()
    loss.backward()
    opt.step()
    warm.step()
    time.sleep(0.1)
    if step % 10 == 0:
        log.info("step %4d loss %.4f lr %.2e", step, loss, warm.get_last_lr()[0])
    if step % 120 == 0:
        log.info("saving step-%04d.pt ...", step)
        began = time.time()
        size = storage.put({"net": net.state_dict(), "opt": opt.state_dict(), "step": step}, f"step-{step:04d}.pt")
        log.info("saved step-%04d.pt, %.2f MB in %.1f s", step, size / 1e6, time.time() - began)
log.info("run7 complete")
