"""Learns to reverse sequences. Two ranks, gradient accumulation, a checkpoint after each epoch."""
import logging
import os
import sys
import time

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, Dataset, DistributedSampler

logger = logging.getLogger(__name__)


class Reverse(Dataset):
    def __len__(self):
        return 640

    def __getitem__(self, i):
        g = torch.Generator().manual_seed(i)
        s = torch.randint(2, 30, (10,), generator=g)
        return s, torch.cat([torch.ones(1, dtype=torch.long), s.flip(0)])


class Seq2Seq(nn.Module):
    def __init__(self, v=30, d=32):
        super().__init__()
        self.emb = nn.Embedding(v, d)
        self.pos = nn.Parameter(torch.randn(12, d) * 0.1)
        self.net = nn.Transformer(d, 2, 1, 1, 64, dropout=0.0, batch_first=True)
        self.out = nn.Linear(d, v)

    def forward(self, a, b):
        mask = nn.Transformer.generate_square_subsequent_mask(b.size(1))
        return self.out(self.net(self.emb(a) + self.pos[:a.size(1)], self.emb(b) + self.pos[:b.size(1)], tgt_mask=mask))


def main(epochs=9, accumulate=2):
    dist.init_process_group("gloo")
    rank = dist.get_rank()
    logging.basicConfig(stream=sys.stdout, level=logging.INFO if rank == 0 else logging.WARNING,
                        format="%(asctime)s - %(levelname)s - %(name)s - %(message)s")
    torch.manual_seed(0)
    model = DistributedDataParallel(Seq2Seq())
    opt = torch.optim.Adam(model.parameters(), 3e-3)
    sampler = DistributedSampler(Reverse())
    loader = DataLoader(Reverse(), batch_size=16, sampler=sampler)
    logger.info("***** Running training *****")
    logger.info("  Num examples = %d, epochs = %d, world size = %d", len(Reverse()), epochs, dist.get_world_size())
    done = 0
    for epoch in range(epochs):
        sampler.set_epoch(epoch)
        for i, (a, b) in enumerate(loader):
            loss = nn.functional.cross_entropy(model(a, b[:, :-1]).flatten(0, 1), b[:, 1:].flatten())
            (loss / accumulate).backward()
            time.sleep(0.15)
            if i % accumulate == accumulate - 1:
                opt.step()
                opt.zero_grad()
                done += 1
                if done % 5 == 0:
                    mean = loss.detach().clone()
                    dist.all_reduce(mean)
                    logger.info("epoch %d update %d loss %.4f", epoch, done, mean.item() / dist.get_world_size())
        dist.barrier()
        if rank == 0:
            os.makedirs("out", exist_ok=True)
            torch.save(model.module.state_dict(), f"out/epoch{epoch}.bin")
            logger.info("Saving model checkpoint to out/epoch%d.bin", epoch)
        dist.barrier()
    logger.info("Training completed.")
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
