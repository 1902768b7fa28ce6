"""Character LM, data parallel. torchrun --nproc_per_node 2 train_lm.py"""
import logging
import os
import time
from pathlib import Path

import torch
import torch.distributed as dist
import torch.nn as nn
import torch.nn.functional as F
from torch.nn.parallel import DistributedDataParallel as DDP

STEPS, BS, T, D = 600, 8, 32, 48
TEXT = ("It was a bright cold day in April, and the clocks were striking thirteen. "
        "The hallway smelt of boiled cabbage and old rag mats. ") * 20


class CharLM(nn.Module):
    def __init__(self, vocab):
        super().__init__()
        self.emb = nn.Embedding(vocab, D)
        self.rnn = nn.GRU(D, D, batch_first=True)
        self.out = nn.Linear(D, vocab)

    def forward(self, x):
        return self.out(self.rnn(self.emb(x))[0])


def main():
    dist.init_process_group("gloo")
    rank, world = dist.get_rank(), dist.get_world_size()
    logging.basicConfig(level=logging.INFO, format=f"%(asctime)s [rank{rank}] %(levelname)s %(message)s")
    log = logging.getLogger("lm")
    Path("run").mkdir(exist_ok=True)
    Path(f"run/rank{rank}.pid").write_text(str(os.getpid()))
    torch.manual_seed(7 + rank)
    chars = sorted(set(TEXT))
    data = torch.tensor([chars.index(c) for c in TEXT])
    model = DDP(CharLM(len(chars)))
    opt = torch.optim.AdamW(model.parameters(), lr=3e-3)
    log.info("world_size=%d params=%d vocab=%d", world, sum(p.numel() for p in model.parameters()), len(chars))
    t0 = time.time()
    for step in range(1, STEPS + 1):
        at = torch.randint(0, len(data) - T - 1, (BS,))
        x = torch.stack([data[i:i + T] for i in at])
        y = torch.stack([data[i + 1:i + T + 1] for i in at])
        loss = F.cross_entropy(model(x).flatten(0, 1), y.flatten())
        opt.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        opt.step()
        time.sleep(0.15)
        if rank == 0 and step % 10 == 0:
            log.info("step %d/%d loss %.4f ppl %.2f (%.1f tok/s)", step, STEPS, loss.item(),
                     loss.exp().item(), step * BS * T * world / (time.time() - t0))
        if rank == 0 and step % 100 == 0:
            torch.save({"step": step, "model": model.module.state_dict()}, f"run/ckpt_{step}.pt")
            log.info("saved run/ckpt_%d.pt", step)
    dist.destroy_process_group()


main()
