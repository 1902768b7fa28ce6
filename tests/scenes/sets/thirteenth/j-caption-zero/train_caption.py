import argparse
import json
import shutil
import time
from pathlib import Path

import deepspeed
import torch
from torch import nn

deepspeed.ops.__compatible_ops__["deepspeed_shm_comm"] = False  # no compiler on these boxes

p = argparse.ArgumentParser()
p.add_argument("--deepspeed_config")
p.add_argument("--out")
p.add_argument("--steps", type=int, default=280)
p.add_argument("--local_rank", type=int, default=0)
a = p.parse_args()
V = 256


class Captioner(nn.Module):
    def __init__(self, d=160):
        super().__init__()
        self.patch = nn.Conv2d(3, d, 8, 8)
        self.words = nn.Embedding(V, d)
        self.rnn = nn.GRU(d, d, batch_first=True)
        self.look = nn.MultiheadAttention(d, 4, batch_first=True)
        self.head = nn.Linear(d, V)

    def forward(self, image, words):
        m = self.patch(image).flatten(2).transpose(1, 2)
        h = self.rnn(self.words(words[:, :-1]))[0]
        h = h + self.look(h, m, m, need_weights=False)[0]
        return nn.functional.cross_entropy(self.head(h).float().flatten(0, 1), words[:, 1:].flatten())


def batch(n):
    k = torch.randint(0, 30, (n,))
    image = (k[:, None, None, None] / 30 + 0.05 * torch.randn(n, 3, 32, 32)).bfloat16()
    return image, (k[:, None] * 5 + torch.arange(9) * 7) % V


def prune(out, keep):
    tags = sorted(Path(out).glob("step*"), key=lambda t: t.stat().st_mtime)
    for tag in tags[:-keep]:
        shutil.rmtree(tag)
        print(f"pruned {tag.name}")


torch.manual_seed(0)
deepspeed.init_distributed("gloo")
model = Captioner()
engine, _, _, _ = deepspeed.initialize(model=model, model_parameters=model.parameters(), config=json.load(open(a.deepspeed_config)))
began = time.time()
for step in range(1, a.steps + 1):
    loss = engine(*batch(8))
    engine.backward(loss)
    engine.step()
    time.sleep(0.12)
    if step % 10 == 0:
        print(f"[{time.time() - began:7.1f}s] step {step}/{a.steps} caption_loss {loss.item():.3f}")
    if step % 40 == 0:
        engine.save_checkpoint(a.out, tag=f"step{step}")
        prune(a.out, keep=2)
print("done, final loss", round(loss.item(), 3))
torch.distributed.destroy_process_group()
