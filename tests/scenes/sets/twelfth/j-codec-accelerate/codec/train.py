import argparse
import math
import time
from pathlib import Path

import torch
import yaml
from accelerate import Accelerator
from accelerate.logging import get_logger
from accelerate.utils import set_seed

from .model import Codec

logger = get_logger(__name__)


class Tones(torch.utils.data.IterableDataset):
    def __init__(self, length):
        self.length = length

    def __iter__(self):
        t = torch.arange(self.length) / 16000
        while True:
            f = torch.rand(3) * 1500 + 80
            a = torch.rand(3) * 0.4
            wav = sum(a[i] * torch.sin(2 * math.pi * f[i] * t) for i in range(3))
            yield (wav + 0.01 * torch.randn(self.length))[None]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--config")
    cfg = yaml.safe_load(Path(parser.parse_args().config).read_text())
    accelerator = Accelerator(cpu=True)
    set_seed(7)
    model = Codec(cfg["hidden"])
    opt = torch.optim.AdamW(model.parameters(), lr=cfg["lr"])
    loader = torch.utils.data.DataLoader(Tones(cfg["segment"]), batch_size=cfg["batch"])
    model, opt = accelerator.prepare(model, opt)
    accelerator.print(f"{cfg['name']}: {accelerator.num_processes} processes, "
                      f"{sum(p.numel() for p in model.parameters()) / 1e3:.0f}k params")
    began = time.time()
    for step, wav in enumerate(loader, 1):
        rec, commit = model(wav)
        l1 = (rec - wav).abs().mean()
        loss = l1 + 0.02 * commit
        accelerator.backward(loss)
        accelerator.clip_grad_norm_(model.parameters(), 1.0)
        opt.step()
        opt.zero_grad()
        time.sleep(0.06)
        if step % cfg["log_every"] == 0:
            mean = accelerator.gather(loss.detach()[None]).mean().item()
            accelerator.print(f"step={step} loss={mean:.4f} l1={l1.item():.4f} commit={commit.item():.4f} "
                              f"elapsed={time.time() - began:.0f}s", flush=True)
        if step % cfg["save_every"] == 0:
            accelerator.save_state(f"{cfg['out']}/step_{step:06d}")
            accelerator.print(f"checkpoint {cfg['out']}/step_{step:06d}", flush=True)
        if step >= cfg["steps"]:
            break
    accelerator.end_training()


if __name__ == "__main__":
    main()
