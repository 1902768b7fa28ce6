import os
os.environ.setdefault("OMP_NUM_THREADS", "1")
import logging
import time
import torch
from torch import nn

torch.set_num_threads(1)
torch.manual_seed(8)
logging.basicConfig(level=logging.INFO, format="%(asctime)s %(levelname)-7s %(message)s", datefmt="%H:%M:%S")
log = logging.getLogger("asr")
net = nn.Sequential(nn.Linear(40, 96), nn.ReLU(), nn.Linear(96, 96), nn.ReLU(), nn.Linear(96, 30))
opt = torch.optim.AdamW(net.parameters(), lr=1e-3)
scaler = torch.amp.GradScaler("cpu", init_scale=2.0 ** 24, growth_interval=120)
w = torch.randn(40, 30)
good = 0
for n in range(1, 521):
    x = torch.randn(32, 40)
    with torch.autocast("cpu", dtype=torch.float16):
        out = net(x)
    loss = nn.functional.cross_entropy(out.float(), (x @ w).argmax(1))
    opt.zero_grad(set_to_none=True)
    scaler.scale(loss).backward()
    scaler.unscale_(opt)
    gnorm = nn.utils.clip_grad_norm_(net.parameters(), 2.0).item()
    before = scaler.get_scale()
    scaler.step(opt)
    scaler.update()
    if scaler.get_scale() < before:
        log.warning("update %d: gradient overflow (grad norm %s), skipping step, reducing loss scale to %d", n, gnorm,
                    scaler.get_scale())
    else:
        good += 1
    time.sleep(0.13)
    if n % 20 == 0:
        log.info("update %d loss %.4f gnorm %.3f scale %d good %d", n, loss.item(), gnorm, scaler.get_scale(), good)
    if n % 200 == 0:
        torch.save({"net": net.state_dict(), "scaler": scaler.state_dict()}, "asr_last.pt")
log.info("done: %d of %d updates applied", good, n)
