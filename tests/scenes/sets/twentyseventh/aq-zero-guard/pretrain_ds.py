"""Continued pretraining with DeepSpeed ZeRO-1 on two ranks. Rotten documents are met by the spike guard: such a step is left out."""
import os
import time

import deepspeed
import torch
import torch.nn as nn
import torch.nn.functional as F

deepspeed.ops.__compatible_ops__["deepspeed_shm_comm"] = False  # no compiler in the image, plain gloo does
V, T, B, STEPS = 200, 32, 8, int(os.environ.get("STEPS", 420))
ROTTEN = {97, 151, 152, 233, 318, 377}
TABLE = torch.randint(0, V, (V, 3), generator=torch.Generator().manual_seed(1))
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


def batch(g, step, rank):
    x = torch.randint(0, V, (B, 1), generator=g).repeat(1, T + 1)
    for t in range(T):
        x[:, t + 1] = TABLE[x[:, t], torch.randint(0, 3, (B,), generator=g)]
    if step in ROTTEN and rank == 1:
        x = torch.randint(0, V, (B, T + 1), generator=g)  # binary rubbish that the filter let through
    return x


def main():
    torch.set_num_threads(1)
    torch.manual_seed(0)
    deepspeed.init_distributed("gloo")
    rank, world = torch.distributed.get_rank(), torch.distributed.get_world_size()
    net = LM()
    engine, *_ = deepspeed.initialize(model=net, model_parameters=net.parameters(), config=CONF)
    g = torch.Generator().manual_seed(50 + rank)
    mean, skipped, t0 = None, 0, time.time()
    for step in range(1, STEPS + 1):
        x = batch(g, step, rank)
        loss = engine(x[:, :-1], x[:, 1:])
        both = loss.detach().float().clone()
        torch.distributed.all_reduce(both)
        both = both.item() / world
        time.sleep(0.28)
        if step > 60 and both > 1.5 * mean:
            skipped += 1
            engine.zero_grad()
            if rank == 0:
                print(f"WARNING: loss spike {both:.4f} (mean {mean:.4f}) at step {step}: the batch is left out, {skipped} of {step} so far, ABORT above 5 %", flush=True)
            if skipped > 0.05 * STEPS:
                raise RuntimeError("too many spikes, look at the data")
        else:
            engine.backward(loss)
            engine.step()
            mean = both if mean is None else 0.9 * mean + 0.1 * both
        if rank == 0 and step % 2 == 0:
            print(f"step={step} skipped={skipped} loss={both:.4f} mean={mean:.4f} tokens/s={step * B * T * world / (time.time() - t0):.0f}", flush=True)
        if step % 100 == 0:
            engine.save_checkpoint("ckpt", tag=f"step{step}")
    if rank == 0:
        print("training complete", flush=True)


main()
