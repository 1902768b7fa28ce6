import logging
import sys
import time

import torch
from torch import nn
from torch.amp import GradScaler, autocast

logging.basicConfig(stream=sys.stdout, level=logging.INFO, format="[%(asctime)s][%(name)s][%(levelname)s] - %(message)s")
log = logging.getLogger("amp")


class ResidualMlp(nn.Module):
    def __init__(self, d=64, depth=3, classes=6):
        super().__init__()
        self.layers = nn.ModuleList(nn.Linear(d, d) for _ in range(depth))
        self.norms = nn.ModuleList(nn.LayerNorm(d) for _ in range(depth))
        self.head = nn.Linear(d, classes)

    def forward(self, x):
        for layer, norm in zip(self.layers, self.norms):
            x = x + torch.relu(layer(norm(x)))
        return self.head(x)


def main():
    torch.manual_seed(0)
    model = ResidualMlp()
    opt = torch.optim.AdamW(model.parameters(), lr=2e-3)
    scaler = GradScaler("cpu", init_scale=2.0 ** 24, growth_interval=60)
    centres = torch.randn(6, 64)
    skipped = 0
    log.info("fp16 autocast, initial loss scale %g", scaler.get_scale())
    for step in range(1, 351):
        y = torch.randint(0, 6, (64,))
        x = centres[y] + 2.5 * torch.randn(64, 64)
        with autocast("cpu", dtype=torch.float16):
            loss = nn.functional.cross_entropy(model(x).float(), y)
        opt.zero_grad()
        before = scaler.get_scale()
        scaler.scale(loss).backward()
        scaler.unscale_(opt)
        norm = nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        scaler.step(opt)
        scaler.update()
        if scaler.get_scale() < before:
            skipped += 1
            log.warning("Gradient overflow (grad norm %s). Skipping step, loss scaler reducing loss scale to %g",
                        norm.item(), scaler.get_scale())
        time.sleep(0.12)
        if step % 10 == 0:
            log.info("step %d | loss %.4f | grad_norm %.3f | scale %g | skipped %d", step, loss.item(), norm.item(),
                     scaler.get_scale(), skipped)
    torch.save({"model": model.state_dict(), "scaler": scaler.state_dict()}, "amp_final.pt")
    log.info("training done, %d of 350 steps were skipped", skipped)


main()
