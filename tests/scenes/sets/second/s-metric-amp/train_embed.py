import os
os.environ.setdefault("OMP_NUM_THREADS", "1")
import time
import torch
from torch import nn
from tqdm import tqdm

torch.set_num_threads(1)
torch.manual_seed(5)
STEPS, STAGE2 = 520, 150


class Embedder(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(32, 96, bias=False), nn.ReLU(), nn.Linear(96, 24, bias=False))
        self.proxies = nn.Parameter(torch.randn(10, 24))

    def forward(self, x):
        z = self.body(x)
        z = z / (z.pow(2).sum(-1, keepdim=True).sqrt() + 1e-6)
        p = nn.functional.normalize(self.proxies, dim=-1)
        return 8.0 * z @ p.t()


def batch(step):
    y = torch.randint(0, 10, (48,))
    x = torch.randn(48, 32) + 2.0 * nn.functional.one_hot(y, 32).float()
    if step >= STAGE2:                 # stage 2: mixed lengths, padded with zero rows up to the bucket size
        x[-4:] = 0.0
    return x, y


model = Embedder()
opt = torch.optim.AdamW(model.parameters(), lr=2e-3)
scaler = torch.amp.GradScaler("cpu", init_scale=2.0 ** 16, growth_interval=200)
print("stage 1: plain batches; stage 2 from step %d: bucketed batches" % STAGE2, flush=True)
bar = tqdm(range(STEPS), desc="train", mininterval=1.0)
run = None
for step in bar:
    x, y = batch(step)
    loss = nn.functional.cross_entropy(model(x), y, label_smoothing=0.1)
    opt.zero_grad(set_to_none=True)
    scaler.scale(loss).backward()
    scaler.unscale_(opt)
    scaler.step(opt)
    scaler.update()
    run = loss.item() if run is None else 0.95 * run + 0.05 * loss.item()
    bar.set_postfix(loss=f"{run:.4f}", scale=f"{scaler.get_scale():.3g}")
    time.sleep(0.13)
    if (step + 1) % 200 == 0:
        torch.save({"model": model.state_dict(), "opt": opt.state_dict(), "scaler": scaler.state_dict(),
                    "step": step + 1}, "last.ckpt")
        tqdm.write(f"saved last.ckpt at step {step + 1}, loss {run:.4f}, scale {scaler.get_scale():.3g}")
torch.save(model.state_dict(), "final.pt")
print("done", flush=True)
