"""Wake-word model with DeepSpeed on the CPU nodes (bf16, ZeRO-1)."""
import argparse
import os
import shutil
import time

os.environ.setdefault("DS_ACCELERATOR", "cpu")
import deepspeed
import torch
import torch.nn as nn
import yaml

deepspeed.ops.__compatible_ops__["deepspeed_shm_comm"] = False


class Wake(nn.Module):
    def __init__(self):
        super().__init__()
        self.front = nn.Conv1d(20, 32, 5, stride=2)
        self.mix = nn.TransformerEncoderLayer(32, 4, 64, dropout=0.1, batch_first=True)
        self.out = nn.Linear(32, 2)

    def forward(self, x, y):
        h = self.mix(self.front(x).relu().transpose(1, 2)).mean(1)
        z = self.out(h).float()
        return nn.functional.cross_entropy(z, y), (z.argmax(1) == y).float().mean()


def clip(n, word, g):
    y = torch.randint(0, 2, (n,), generator=g)
    x = torch.randn(n, 20, 40, generator=g)
    for i in y.nonzero().flatten().tolist():
        at = int(torch.randint(0, 25, (1,), generator=g))
        x[i, :, at:at + 12] += word
    return x.bfloat16(), y


ap = argparse.ArgumentParser()
ap.add_argument("--steps", type=int, default=240)
args = ap.parse_args()
torch.manual_seed(0)
torch.set_num_threads(1)
deepspeed.init_distributed(dist_backend="gloo")
net = Wake()
opt = torch.optim.AdamW(net.parameters(), lr=2e-3)
engine, *_ = deepspeed.initialize(model=net, optimizer=opt, config=yaml.safe_load(open("ds_config.yaml")))
g = torch.Generator().manual_seed(1)
word = torch.randn(20, 12, generator=g) * 0.5
held = clip(128, word, torch.Generator().manual_seed(2))
for step in range(1, args.steps + 1):
    loss, acc = engine(*clip(16, word, g))
    engine.backward(loss)
    engine.step()
    time.sleep(0.2)
    if step % 8 == 0:
        print(f"[wake] micro_step={step:04d}/{args.steps} loss={loss.item():.4f} acc={acc.item():.3f} grad_norm={float(engine.get_global_grad_norm() or 0):.3f}", flush=True)
    if step % 80 == 0:
        engine.eval()
        with torch.no_grad():
            vl, va = engine(*held)
        engine.train()
        print(f"[wake] dev loss={vl.item():.4f} acc={va.item():.3f}", flush=True)
        engine.save_checkpoint("ckpt", tag=f"s{step}")
        done = sorted((d for d in os.listdir("ckpt") if os.path.isdir(f"ckpt/{d}")), key=lambda d: int(d[1:]))
        for old in done[:-2]:
            shutil.rmtree(f"ckpt/{old}")
            print(f"[wake] removed old checkpoint {old}", flush=True)
print("[wake] training finished", flush=True)
