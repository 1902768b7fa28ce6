import argparse
import ctypes
import os
import time
import torch
import deepspeed
from torch import nn
from torch.utils.data import DataLoader, Dataset, DistributedSampler

torch.set_num_threads(1)
# no compiler on the box: do without the compiled communication ops
deepspeed.ops.__compatible_ops__ = {}

ap = argparse.ArgumentParser()
ap.add_argument("--local_rank", type=int, default=-1)
ap = deepspeed.add_config_arguments(ap)
args = ap.parse_args()


def fast_tokenize(i):
    """stand-in for the C tokenizer; returns a pointer for each row"""
    buf = ctypes.create_string_buffer(b"%064d" % (i * 7919))
    addr = ctypes.addressof(buf) if i != 1501 else 0      # NULL for a row with a lone surrogate
    return list(ctypes.string_at(addr, 64))


class Pairs(Dataset):
    def __len__(self):
        return 2400

    def __getitem__(self, i):
        a = torch.tensor(fast_tokenize(i), dtype=torch.float32) / 57.0
        return a, a + 0.1 * torch.sin(torch.arange(64) + i)


def main():
    torch.manual_seed(2)
    deepspeed.init_distributed(dist_backend="gloo")
    rank = torch.distributed.get_rank()
    model = nn.Sequential(nn.Linear(64, 64), nn.Tanh(), nn.Linear(64, 1))
    engine, _, _, _ = deepspeed.initialize(args=args, model=model, model_parameters=model.parameters())
    sampler = DistributedSampler(Pairs(), shuffle=False)
    loader = DataLoader(Pairs(), batch_size=8, sampler=sampler, num_workers=1)
    for epoch in range(3):
        for i, (good, bad) in enumerate(loader):
            loss = -nn.functional.logsigmoid(engine(good) - engine(bad)).mean()
            engine.backward(loss)
            engine.step()
            time.sleep(0.25)
            if rank == 0 and i % 10 == 0:
                print(f"epoch {epoch} batch {i}/{len(loader)} reward loss {loss.item():.4f}", flush=True)
        engine.save_checkpoint("ckpt", tag=f"epoch{epoch}")


main()
