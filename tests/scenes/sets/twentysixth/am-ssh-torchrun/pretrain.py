"""Two-rank pretraining of a small causal LM (gloo here, nccl on the big box)."""
import logging
import os
import time

import torch
import torch.distributed as dist
import torch.nn as nn
import torch.nn.functional as F
from torch.nn.parallel import DistributedDataParallel as DDP

VOCAB, CTX, BATCH, STEPS, SAVE_EVERY = 200, 32, 8, 420, 50


class LM(nn.Module):
    def __init__(self, d=64):
        super().__init__()
        self.tok = nn.Embedding(VOCAB, d)
        self.pos = nn.Embedding(CTX, d)
        layer = nn.TransformerEncoderLayer(d, 4, 4 * d, dropout=0.0, batch_first=True, norm_first=True)
        self.body = nn.TransformerEncoder(layer, 2, enable_nested_tensor=False)
        self.head = nn.Linear(d, VOCAB)
        self.register_buffer("mask", nn.Transformer.generate_square_subsequent_mask(CTX))

    def forward(self, x):
        h = self.tok(x) + self.pos.weight[: x.size(1)]
        return self.head(self.body(h, mask=self.mask, is_causal=True))


def batches(rank):
    g = torch.Generator().manual_seed(100 + rank)
    table = torch.randint(0, VOCAB, (VOCAB, 4), generator=torch.Generator().manual_seed(7))
    while True:
        x = torch.empty(BATCH, CTX + 1, dtype=torch.long)
        x[:, 0] = torch.randint(0, VOCAB, (BATCH,), generator=g)
        for t in range(CTX):
            x[:, t + 1] = table[x[:, t], torch.randint(0, 4, (BATCH,), generator=g)]
        yield x[:, :-1], x[:, 1:]


def main():
    dist.init_process_group("gloo")
    rank = dist.get_rank()
    torch.set_num_threads(1)
    logging.basicConfig(level=logging.INFO,
                        format=f"[%(asctime)s][rank{rank}][%(levelname)s] %(message)s")
    log = logging.getLogger("pretrain")
    torch.manual_seed(0)
    net = LM()
    log.info("model has %.2fM parameters, world size %d", sum(p.numel() for p in net.parameters()) / 1e6,
             dist.get_world_size())
    model = DDP(net)
    opt = torch.optim.AdamW(model.parameters(), lr=2e-3)
    os.makedirs("ckpt", exist_ok=True)
    t0 = time.time()
    for step, (x, y) in enumerate(batches(rank), 1):
        loss = F.cross_entropy(model(x).flatten(0, 1), y.flatten())
        opt.zero_grad()
        loss.backward()
        opt.step()
        time.sleep(0.22)
        if rank == 0 and step % 5 == 0:
            log.info("step %05d | loss %.4f | %.1f tok/s", step, loss.item(),
                     2 * step * BATCH * CTX / (time.time() - t0))
        if step % SAVE_EVERY == 0:
            if rank == 0:
                torch.save({"model": net.state_dict(), "opt": opt.state_dict(), "step": step}, "ckpt/tmp.pt")
                os.replace("ckpt/tmp.pt", f"ckpt/step_{step:05d}.pt")
                log.info("saved ckpt/step_%05d.pt", step)
            dist.barrier()
        if step >= STEPS:
            break
    log.info("training finished after %d steps", STEPS)
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
