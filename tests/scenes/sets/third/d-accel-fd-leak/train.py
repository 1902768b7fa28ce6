import argparse
import logging
import os
import time

import numpy as np
import torch
from accelerate import Accelerator
from accelerate.logging import get_logger
from accelerate.utils import set_seed
from torch.utils.data import DataLoader, Dataset

logger = get_logger("train")
REC, PER_SHARD, SHARDS = 257, 200, 16


def build_shards(root):
    os.makedirs(root, exist_ok=True)
    rng = np.random.default_rng(3)
    teacher = rng.normal(size=(REC - 1, 10))
    for s in range(SHARDS):
        x = rng.normal(size=(PER_SHARD, REC - 1)).astype("float32")
        y = (x @ teacher).argmax(1).astype("float32")
        np.concatenate([y[:, None], x], 1).tofile(f"{root}/shard_{s:03d}.bin")


class ShardReader:
    """Keeps the files open, since opening on the network volume is slow."""

    def __init__(self, root):
        self.root = root
        self.handles = {}

    def handle(self, shard, row):
        key = (shard, row)
        if key not in self.handles:
            self.handles[key] = open(f"{self.root}/shard_{shard:03d}.bin", "rb", buffering=0)
        return self.handles[key]

    def read(self, shard, row):
        last = None
        for attempt in range(1, 6):
            try:
                fh = self.handle(shard, row)
                fh.seek(row * REC * 4)
                return np.frombuffer(fh.read(REC * 4), dtype="float32").copy()
            except OSError as err:
                last = err
                logger.warning("read failed (%s), retry %d/5 in 3 s", err, attempt)
                time.sleep(3)
        raise last


class ShardDataset(Dataset):
    def __init__(self, root):
        self.reader = ShardReader(root)

    def __len__(self):
        return SHARDS * PER_SHARD

    def __getitem__(self, i):
        rec = self.reader.read(i // PER_SHARD, i % PER_SHARD)
        return torch.from_numpy(rec[1:]), int(rec[0])


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--max_train_steps", type=int, default=400)
    ap.add_argument("--checkpointing_steps", type=int, default=25)
    args = ap.parse_args()
    logging.basicConfig(format="%(asctime)s - %(levelname)s - %(name)s - %(message)s",
                        datefmt="%m/%d/%Y %H:%M:%S", level=logging.INFO)
    torch.set_num_threads(1)
    accelerator = Accelerator(cpu=True)
    set_seed(11)
    build_shards("data")
    loader = DataLoader(ShardDataset("data"), batch_size=4, shuffle=True)
    model = torch.nn.Sequential(torch.nn.Linear(REC - 1, 96), torch.nn.GELU(), torch.nn.Linear(96, 10))
    optim = torch.optim.AdamW(model.parameters(), lr=2e-3)
    model, optim, loader = accelerator.prepare(model, optim, loader)
    logger.info("***** Running training *****")
    logger.info("  Num examples = %d", SHARDS * PER_SHARD)
    logger.info("  Total optimization steps = %d", args.max_train_steps)
    step, avg = 0, None
    while step < args.max_train_steps:
        for x, y in loader:
            loss = torch.nn.functional.cross_entropy(model(x), y)
            accelerator.backward(loss)
            optim.step()
            optim.zero_grad()
            time.sleep(0.42)
            step += 1
            avg = loss.item() if avg is None else 0.95 * avg + 0.05 * loss.item()
            if step % 5 == 0:
                logger.info("step %d/%d loss %.4f", step, args.max_train_steps, avg)
            if step % args.checkpointing_steps == 0:
                accelerator.save_state(f"runs/step_{step}")
                logger.info("Saved state to runs/step_%d", step)
            if step >= args.max_train_steps:
                break
    logger.info("Training finished")


if __name__ == "__main__":
    main()
