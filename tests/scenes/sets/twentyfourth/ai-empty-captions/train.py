"""Caption model, DDP over gloo. One shard of captions per rank, an epoch is the next slice of the stream."""
import json
import logging
import os
import time

import torch
import torch.distributed as dist
import torch.nn as nn
import torch.nn.functional as F
from torch.nn.parallel import DistributedDataParallel as DDP

STEPS, BATCH, EPOCHS, LEN = 45, 4, 12, 16

dist.init_process_group("gloo")
rank = dist.get_rank()
logging.basicConfig(level=logging.INFO, format=f"%(asctime)s [rank {rank}] %(message)s")
log = logging.getLogger("caption")


class Captioner(nn.Module):
    def __init__(self, vocab=128, d=48):
        super().__init__()
        self.emb = nn.Embedding(vocab, d, padding_idx=0)
        self.img = nn.Linear(24, d)
        self.rnn = nn.GRU(d, d, batch_first=True)
        self.head = nn.Linear(d, vocab)

    def forward(self, feats, ids):
        h0 = self.img(feats).unsqueeze(0)
        out, _ = self.rnn(self.emb(ids), h0)
        return self.head(out)


def stream():
    rows = [json.loads(x) for x in open(f"shards/part-{rank}.jsonl")]
    at = 0
    while True:
        part = [rows[(at + k) % len(rows)] for k in range(BATCH)]
        at += BATCH
        ids = torch.zeros(BATCH, LEN + 1, dtype=torch.long)
        for k, r in enumerate(part):
            t = [ord(c) % 128 for c in r["c"]][: LEN + 1]
            ids[k, : len(t)] = torch.tensor(t, dtype=torch.long)
        feats = torch.tensor([[float((r["i"] * 31 + j) % 7) / 7 for j in range(24)] for r in part])
        yield feats, ids


def main():
    torch.manual_seed(0)
    torch.set_num_threads(1)
    model = DDP(Captioner())
    opt = torch.optim.AdamW(model.parameters(), lr=3e-3)
    data = stream()
    os.makedirs("ckpt", exist_ok=True)
    if rank == 0:
        log.info("world size %d, %d steps per epoch, %d epochs", dist.get_world_size(), STEPS, EPOCHS)
    for epoch in range(EPOCHS):
        for step in range(1, STEPS + 1):
            feats, ids = next(data)
            target = ids[:, 1:]
            if (target != 0).sum() == 0:
                # cross entropy over nothing would be nan
                log.warning("epoch %d step %d: no caption in this batch, skipped", epoch, step)
                continue
            logits = model(feats, ids[:, :-1])
            loss = F.cross_entropy(logits.reshape(-1, 128), target.reshape(-1), ignore_index=0)
            opt.zero_grad()
            loss.backward()
            opt.step()
            time.sleep(0.3)
            if rank == 0 and step % 5 == 0:
                log.info("epoch %d step %d/%d loss %.4f", epoch, step, STEPS, loss.item())
        dist.barrier()
        if rank == 0:
            torch.save({"model": model.module.state_dict(), "epoch": epoch}, f"ckpt/epoch{epoch}.pt")
            log.info("epoch %d done, saved ckpt/epoch%d.pt", epoch, epoch)
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
