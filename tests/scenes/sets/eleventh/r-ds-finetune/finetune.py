import argparse
import time

import deepspeed
import torch
from torch import nn

deepspeed.ops.__compatible_ops__["deepspeed_shm_comm"] = False  # no compiler on these images: gloo alone
parser = argparse.ArgumentParser()
parser.add_argument("--local_rank", type=int, default=-1)
parser.add_argument("--steps", type=int, default=300)
parser = deepspeed.add_config_arguments(parser)


class Block(nn.Module):
    def __init__(self, d):
        super().__init__()
        self.att = nn.MultiheadAttention(d, 4, batch_first=True)
        self.mlp = nn.Sequential(nn.Linear(d, 2 * d), nn.GELU(), nn.Linear(2 * d, d))
        self.n1, self.n2 = nn.LayerNorm(d), nn.LayerNorm(d)

    def forward(self, x):
        y = self.n1(x)
        x = x + self.att(y, y, y, need_weights=False)[0]
        return x + self.mlp(self.n2(x))


class Classifier(nn.Module):
    def __init__(self, vocab=200, d=32):
        super().__init__()
        self.emb = nn.Embedding(vocab, d)
        self.blocks = nn.Sequential(*[Block(d) for _ in range(2)])
        self.head = nn.Linear(d, 3)

    def forward(self, ids):
        return self.head(self.blocks(self.emb(ids)).mean(1))


def main():
    args = parser.parse_args()
    deepspeed.init_distributed("gloo")
    torch.manual_seed(11)
    model = Classifier()
    engine, *_ = deepspeed.initialize(args=args, model=model, model_parameters=model.parameters())
    print(f"rank {engine.global_rank}: {engine.train_micro_batch_size_per_gpu()} per step", flush=True)
    for step in range(args.steps):
        ids = torch.randint(0, 200, (engine.train_micro_batch_size_per_gpu(), 16))
        loss = nn.functional.cross_entropy(engine(ids).float(), ids.sum(1) % 3)
        engine.backward(loss)
        engine.step()
        time.sleep(0.1)
        if engine.global_rank == 0 and step % 20 == 0:
            print(f"step {step} loss {loss.item():.4f}", flush=True)
    engine.save_checkpoint("ckpt")


main()
