"""Small next-byte model on two corpora, one corpus a rank (books on 0, scans on 1)."""
import logging
import os
import time

import numpy as np
import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP

EPOCHS = 6
BATCH = 8
SEQ = 48
QUALITY_BY_EPOCH = [0.0, 0.0, 0.4, 0.4, 0.5, 0.5]  # curriculum: clean text only towards the end

rank = int(os.environ["RANK"])
logging.basicConfig(
    level=logging.INFO if rank == 0 else logging.WARNING,
    format=f"%(asctime)s [rank{rank}] %(name)s %(levelname)s: %(message)s",
)
log = logging.getLogger("pretrain")


class Corpus:
    def __init__(self, name, n, low, high, seed):
        rng = np.random.default_rng(seed)
        self.name = name
        self.text = rng.integers(0, 64, size=(n, SEQ + 1))
        # make it learnable: every second byte repeats the one before
        self.text[:, 1::2] = self.text[:, 0:-1:2]
        self.quality = rng.uniform(low, high, size=n)

    def batches(self, min_quality, seed):
        idx = np.flatnonzero(self.quality >= min_quality)
        idx = np.random.default_rng(seed).permutation(idx)
        for i in range(0, len(idx) - BATCH + 1, BATCH):
            yield torch.from_numpy(self.text[idx[i:i + BATCH]])


class TinyLM(nn.Module):
    def __init__(self):
        super().__init__()
        self.emb = nn.Embedding(64, 64)
        self.rnn = nn.GRU(64, 96, batch_first=True)
        self.out = nn.Linear(96, 64)

    def forward(self, x):
        h, _ = self.rnn(self.emb(x))
        return self.out(h)


def main():
    dist.init_process_group("gloo")
    torch.manual_seed(0)
    torch.set_num_threads(1)
    if rank == 0:
        corpus = Corpus("books", 160, 0.5, 1.0, seed=1)
    else:
        corpus = Corpus("scans", 160, 0.0, 1.0, seed=2)
    model = DDP(TinyLM())
    opt = torch.optim.AdamW(model.parameters(), lr=3e-3)
    log.info("world size %d, corpus %s with %d documents", dist.get_world_size(), corpus.name, len(corpus.text))
    os.makedirs("checkpoints", exist_ok=True)
    step = 0
    for epoch in range(EPOCHS):
        min_q = QUALITY_BY_EPOCH[epoch]
        log.info("epoch %d: min_quality=%.1f", epoch + 1, min_q)
        t0 = time.time()
        for b, text in enumerate(corpus.batches(min_q, seed=epoch)):
            logits = model(text[:, :-1])
            loss = nn.functional.cross_entropy(logits.reshape(-1, 64), text[:, 1:].reshape(-1))
            opt.zero_grad()
            loss.backward()
            opt.step()
            time.sleep(0.3)
            step += 1
            log.info("epoch %d batch %d step %d loss %.4f (%.2fs)", epoch + 1, b + 1, step, loss.item(), time.time() - t0)
            t0 = time.time()
        dist.barrier()
        if rank == 0:
            torch.save({"model": model.module.state_dict(), "opt": opt.state_dict(), "epoch": epoch},
                       "checkpoints/last.pt")
            log.info("saved checkpoints/last.pt")
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
