"""Pretraining with DeepSpeed ZeRO-1 (gloo on this box). Each rank reads its own shards in order."""
import json
import os
import time

import deepspeed
import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F

deepspeed.ops.__compatible_ops__["deepspeed_shm_comm"] = False  # no compiler in the image, plain gloo does
V, T, B, PER_SHARD = 256, 32, 8, int(os.environ.get("PER_SHARD", 100))
CONF = {
    "train_micro_batch_size_per_gpu": B, "gradient_accumulation_steps": 1, "gradient_clipping": 1.0,
    "optimizer": {"type": "AdamW", "params": {"lr": 2e-3, "torch_adam": True}},
    "zero_optimization": {"stage": 1}, "zero_force_ds_cpu_optimizer": False,
    "bf16": {"enabled": True}, "steps_per_print": 100000,
}


class LM(nn.Module):
    def __init__(self, d=64):
        super().__init__()
        self.tok, self.pos = nn.Embedding(V, d), nn.Embedding(T, d)
        layer = nn.TransformerEncoderLayer(d, 4, 4 * d, dropout=0.0, batch_first=True, norm_first=True)
        self.body, self.head = nn.TransformerEncoder(layer, 2, enable_nested_tensor=False), nn.Linear(d, V)

    def forward(self, x, y):
        m = torch.triu(torch.ones(T, T, dtype=torch.bool), 1)
        h = self.body(self.tok(x) + self.pos.weight, mask=m)
        return F.cross_entropy(self.head(h).float().flatten(0, 1), y.flatten())


def shards(rank, world):
    names = sorted(json.load(open("corpus/index.json")))[rank::world]
    while True:
        for name in names:
            yield name


def read(name):
    """All tokens of a shard as rows of T + 1."""
    size = json.load(open("corpus/index.json"))[name]
    data = np.memmap(f"corpus/{name}", dtype=np.uint16, mode="r", shape=(size,))
    rows = size // (T + 1)
    return torch.from_numpy(np.array(data[: rows * (T + 1)], dtype=np.int64)).view(rows, T + 1)


def main():
    torch.set_num_threads(1)
    torch.manual_seed(0)
    deepspeed.init_distributed("gloo")
    rank, world = torch.distributed.get_rank(), torch.distributed.get_world_size()
    net = LM()
    engine, *_ = deepspeed.initialize(model=net, model_parameters=net.parameters(), config=CONF)
    step, t0 = 0, time.time()
    for name in shards(rank, world):
        data = read(name)
        print(f"[rank {rank}] {name}: {len(data)} rows", flush=True)
        for _ in range(PER_SHARD):
            x = data[torch.randint(len(data), (B,))]
            loss = engine(x[:, :-1], x[:, 1:])
            engine.backward(loss)
            engine.step()
            time.sleep(0.3)
            step += 1
            if rank == 0 and step % 2 == 0:
                print(f"step={step} loss={loss.item():.4f} grad_norm={float(engine.get_global_grad_norm() or 0):.3f} "
                      f"tokens/s={step * B * T * world / (time.time() - t0):.0f}", flush=True)
            if step % 50 == 0:
                engine.save_checkpoint("ckpt", tag=f"step{step}")
        if step >= 6 * PER_SHARD:
            break


main()
