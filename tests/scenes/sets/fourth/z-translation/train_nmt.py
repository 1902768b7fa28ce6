"""Tiny seq2seq. Gradient steps on all ranks, decoding of the dev set on rank 0 only."""
import datetime, os, time
import torch
import torch.distributed as dist
import torch.nn as nn
from torch.nn.parallel import DistributedDataParallel as DDP


class Seq2Seq(nn.Module):
    def __init__(self, v=120, d=64):
        super().__init__()
        self.emb = nn.Embedding(v, d)
        self.enc, self.dec = nn.GRU(d, d, batch_first=True), nn.GRU(d, d, batch_first=True)
        self.out = nn.Linear(d, v)

    def forward(self, src, tgt):
        _, h = self.enc(self.emb(src))
        return self.out(self.dec(self.emb(tgt), h)[0])


def batch(g):
    src = torch.randint(2, 120, (24, 10), generator=g)
    ref = 121 - src.flip(1)
    return src, torch.cat([torch.ones(24, 1, dtype=torch.long), ref[:, :-1]], 1), ref


@torch.no_grad()
def decode_dev(model, g, n=60):
    right = total = 0
    for _ in range(n):
        src, tgt, ref = batch(g)
        hyp = tgt[:, :1]
        for _ in range(10):
            hyp = torch.cat([hyp, model(src, hyp)[:, -1:].argmax(-1)], 1)
        right += (hyp[:, 1:] == ref).sum().item()
        total += ref.numel()
        time.sleep(0.5)
    return right / total


def main():
    dist.init_process_group("gloo", timeout=datetime.timedelta(minutes=60))
    rank = dist.get_rank()
    torch.set_num_threads(1)
    torch.manual_seed(0)
    model = DDP(Seq2Seq())
    opt = torch.optim.Adam(model.parameters(), lr=3e-3)
    g = torch.Generator().manual_seed(100 + rank)
    start = time.time()
    for step in range(1, 61):
        src, tgt, ref = batch(g)
        loss = nn.functional.cross_entropy(model(src, tgt).flatten(0, 1), ref.flatten())
        opt.zero_grad(set_to_none=True)
        loss.backward()
        opt.step()
        time.sleep(0.4)
        if rank == 0 and step % 5 == 0:
            print(f"{time.time() - start:7.1f}s  update {step}  nll {loss.item():.3f}", flush=True)
        if step % 30 == 0:
            if rank == 0:
                print(f"{time.time() - start:7.1f}s  decoding the dev set on rank 0", flush=True)
                acc = decode_dev(model.module, torch.Generator().manual_seed(7))
                torch.save(model.module.state_dict(), f"nmt_{step}.pt")
                print(f"{time.time() - start:7.1f}s  dev token accuracy {acc:.4f}, saved nmt_{step}.pt", flush=True)
            dist.barrier()
    dist.destroy_process_group()
    if rank == 0:
        print("training finished", flush=True)


if __name__ == "__main__":
    main()
