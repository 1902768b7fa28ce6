import argparse
import os
import time
import torch
import deepspeed
import torch.distributed as dist
from torch import nn

torch.set_num_threads(1)
deepspeed.ops.__compatible_ops__ = {}         # no compiler on the box
ap = argparse.ArgumentParser()
ap.add_argument("--local_rank", type=int, default=-1)
ap.parse_args()
CONFIG = {"train_micro_batch_size_per_gpu": 16, "gradient_accumulation_steps": 1, "steps_per_print": 25,
          "optimizer": {"type": "AdamW", "params": {"lr": 0.002, "torch_adam": True}},
          "zero_optimization": {"stage": 0}}


def build_index(path):
    """pack the documents into blocks; done once, by rank 0"""
    docs = []
    for i in range(900):
        docs.append((i * 13 + torch.arange(33) * (1 + i % 4)) % 256)
        time.sleep(0.05)
    torch.save(torch.stack(docs), path)


def main():
    deepspeed.init_distributed(dist_backend="gloo")
    rank = dist.get_rank()
    if rank == 0:
        print("building the block index, other ranks wait ...", flush=True)
        build_index("index.pt")
    dist.barrier()
    blocks = torch.load("index.pt")
    torch.manual_seed(3)
    model = nn.Sequential(nn.Embedding(256, 48), nn.Linear(48, 96), nn.GELU(), nn.Linear(96, 256))
    engine, _, _, _ = deepspeed.initialize(model=model, model_parameters=model.parameters(), config=CONFIG)
    g = torch.Generator().manual_seed(100 + rank)
    for step in range(1, 301):
        t = blocks[torch.randint(0, len(blocks), (16,), generator=g)]
        loss = nn.functional.cross_entropy(engine(t[:, :-1]).flatten(0, 1), t[:, 1:].flatten())
        engine.backward(loss)
        engine.step()
        time.sleep(0.15)
        if rank == 0 and step % 25 == 0:
            print(f"step {step}/300: loss {loss.item():.4f}", flush=True)
        if step % 150 == 0:
            engine.save_checkpoint("ckpt", tag=f"step{step}")
    dist.barrier()
    dist.destroy_process_group()


main()
