import logging
import os
import time

import torch
import torch.distributed as dist
import torch.nn as nn
from torch.nn.parallel import DistributedDataParallel as DDP

ROUNDS, STEPS = 3, 60


class Vocoder(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Conv1d(16, 48, 3, padding=1), nn.LeakyReLU(0.1), nn.ConvTranspose1d(48, 24, 8, 4, 2),
                                 nn.LeakyReLU(0.1), nn.ConvTranspose1d(24, 1, 8, 4, 2), nn.Tanh())

    def forward(self, mel):
        return self.net(mel).squeeze(1)


def pairs(n, g):
    f = torch.rand(n, 1, generator=g) * 0.2 + 0.05
    t = torch.arange(256.0)
    wave = torch.sin(f * t) * 0.8
    mel = wave.view(n, 16, 16).transpose(1, 2)
    return mel + 0.05 * torch.randn(mel.shape, generator=g), wave


def main():
    dist.init_process_group("gloo")
    rank = dist.get_rank()
    logging.basicConfig(level=logging.INFO if rank == 0 else logging.WARNING, format="[%(asctime)s][%(name)s][%(levelname)s] - %(message)s")
    log = logging.getLogger("vocoder")
    torch.manual_seed(0)
    g = torch.Generator().manual_seed(10 + rank)
    model = DDP(Vocoder())
    opt = torch.optim.AdamW(model.parameters(), lr=1e-3, betas=(0.8, 0.99))
    os.makedirs("samples", exist_ok=True)
    step = 0
    for r in range(1, ROUNDS + 1):
        for _ in range(STEPS):
            mel, wave = pairs(8, g)
            loss = (model(mel) - wave).abs().mean()
            opt.zero_grad()
            loss.backward()
            opt.step()
            step += 1
            time.sleep(0.2)
            if step % 10 == 0:
                log.info("round %d step %d l1 %.4f", r, step, loss.item())
        if rank == 0:
            log.info("synthesis of the listening set, the other rank waits")
            began = time.time()
            with torch.no_grad():
                for n in range(36):
                    mel, _ = pairs(1, g)
                    torch.save(model.module(mel), f"samples/r{r}_{n:02d}.pt")
                    time.sleep(0.5)
            torch.save({"model": model.module.state_dict(), "opt": opt.state_dict(), "step": step}, "vocoder.tmp")
            os.replace("vocoder.tmp", "vocoder.pt")
            log.info("36 samples in %.1f s, checkpoint at step %d", time.time() - began, step)
        dist.barrier()
    log.info("done at step %d", step)
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
