import logging
import os
import sys
import time

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP

torch.set_num_threads(1)
rank, world = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])
logging.basicConfig(stream=sys.stdout, level=logging.INFO, format=f"%(asctime)s rank{rank} %(levelname).1s %(message)s", datefmt="%H:%M:%S")
log = logging.getLogger()

PHASES = [("short", 8, 70), ("medium", 16, 60), ("long", 24, 120)]
MAX_LEN = 20


class Tagger(nn.Module):
    def __init__(self, vocab=200, tags=12, d=32):
        super().__init__()
        self.tok, self.pos = nn.Embedding(vocab, d), nn.Embedding(MAX_LEN, d)
        self.rnn, self.out = nn.GRU(d, d, batch_first=True), nn.Linear(d, tags)

    def forward(self, x):
        h = self.tok(x) + self.pos(torch.arange(x.shape[1]))
        return self.out(self.rnn(h)[0])


def batch(g, longest, phase):
    # lengths within a bucket; each rank draws its own
    n = int(torch.randint(max(4, longest - 8), longest + 1, (1,), generator=g))
    x = torch.randint(0, 200, (16, n), generator=g)
    return x, (x * 7 + 3) % 12


def main():
    dist.init_process_group("gloo")
    log.info("joined, world size %d", world)
    torch.manual_seed(0)
    model = DDP(Tagger())
    opt = torch.optim.AdamW(model.parameters(), lr=5e-3)
    g = torch.Generator().manual_seed(100 + rank)
    step = 0
    for name, longest, steps in PHASES:
        if rank == 0:
            log.info("curriculum phase '%s': sequences up to %d, %d steps", name, longest, steps)
        for _ in range(steps):
            x, y = batch(g, longest, name)
            time.sleep(0.2)
            loss = nn.functional.cross_entropy(model(x).flatten(0, 1), y.flatten())
            opt.zero_grad()
            loss.backward()
            opt.step()
            step += 1
            if rank == 0 and step % 5 == 0:
                log.info("step=%d phase=%s loss=%.4f lr=%.1e", step, name, loss.item(), opt.param_groups[0]["lr"])
    if rank == 0:
        torch.save(model.module.state_dict(), "tagger.pt")
        log.info("training complete")
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
