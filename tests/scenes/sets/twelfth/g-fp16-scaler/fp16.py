import logging
import sys
import time
import warnings

import torch
from torch import nn

torch.set_num_threads(1)
warnings.filterwarnings("ignore", message="Detected call of")
logging.basicConfig(stream=sys.stdout, level=logging.INFO, format="%(asctime)s %(levelname)s %(message)s")
log = logging.getLogger("amp")
torch.manual_seed(0)


def data(n):
    x = torch.randn(n, 24)
    return x, (x[:, :6].sum(1) > 0).long() + 2 * (x[:, 6] > 0).long()


def main(steps=280):
    net = nn.Sequential(nn.Linear(24, 64), nn.ReLU(), nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 4))
    opt = torch.optim.AdamW(net.parameters(), 3e-3)
    sched = torch.optim.lr_scheduler.LambdaLR(opt, lambda n: min(1.0, (n + 1) / 30))
    scaler = torch.amp.GradScaler("cpu", init_scale=2.0**24, growth_interval=60)
    skipped = 0
    for step in range(1, steps + 1):
        x, y = data(64)
        with torch.autocast("cpu", dtype=torch.float16):
            loss = nn.functional.cross_entropy(net(x).float(), y)
        opt.zero_grad()
        scaler.scale(loss).backward()
        scaler.unscale_(opt)
        norm = nn.utils.clip_grad_norm_(net.parameters(), 1.0)
        before = scaler.get_scale()
        scaler.step(opt)
        scaler.update()
        sched.step()
        time.sleep(0.18)
        if scaler.get_scale() < before:
            skipped += 1
            log.warning("gradient overflow (grad norm %s), step skipped, reducing loss scale to %g", norm.item(), scaler.get_scale())
        if step % 10 == 0:
            log.info("step %d/%d loss %.4f grad_norm %.3f scale %g skipped %d", step, steps, loss.item(), norm.item(), scaler.get_scale(), skipped)
    torch.save(net.state_dict(), "net.pt")
    log.info("done, %d of %d steps skipped", skipped, steps)


main()
