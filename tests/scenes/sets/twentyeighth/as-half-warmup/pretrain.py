"""Half-precision pretraining with a dynamic loss scale and a long warm-up."""
import math
import os
import time

import torch
import torch.nn as nn
import torch.nn.functional as F

torch.set_num_threads(1)
torch.manual_seed(21)
PAUSE = float(os.environ.get("PAUSE", 0.4))
STEPS, WARMUP, PEAK = 360, 140, 1.5e-3


class LM(nn.Module):
    def __init__(self, v=72, d=64):
        super().__init__()
        self.tok, self.pos = nn.Embedding(v, d), nn.Embedding(32, d)
        layer = nn.TransformerEncoderLayer(d, 4, 4 * d, 0.0, batch_first=True, norm_first=True)
        self.body = nn.TransformerEncoder(layer, 2, enable_nested_tensor=False)
        self.head = nn.Linear(d, v)

    def forward(self, x):
        m = nn.Transformer.generate_square_subsequent_mask(x.size(1))
        return self.head(self.body(self.tok(x) + self.pos.weight[: x.size(1)], mask=m))


def lr_at(step):
    if step <= WARMUP:  # quadratic: nearly nothing happens in the first third
        return PEAK * (step / WARMUP) ** 2
    return PEAK * 0.5 * (1 + math.cos(math.pi * (step - WARMUP) / (STEPS - WARMUP)))


def say(text):
    print(f"[{time.strftime('%Y-%m-%d %H:%M:%S')}] {text}", flush=True)


net = LM()
opt = torch.optim.AdamW(net.parameters(), lr=0.0)
scaler = torch.amp.GradScaler("cpu", init_scale=2.0**24, growth_interval=25)
applied = 0
say(f"warm-up over {WARMUP} iterations to lr {PEAK}, loss scale starts at {scaler.get_scale():.0f}")
for step in range(1, STEPS + 1):
    for g in opt.param_groups:
        g["lr"] = lr_at(step)
    x = (torch.randint(0, 72, (8, 1)) + torch.tensor([1, 1, 1, 2, 11])[torch.randint(0, 5, (8, 33))].cumsum(1)) % 72
    with torch.autocast("cpu", dtype=torch.float16):
        logits = net(x[:, :-1])
    loss = F.cross_entropy(logits.float().flatten(0, 1), x[:, 1:].flatten())
    opt.zero_grad(set_to_none=True)
    scaler.scale(loss).backward()
    scaler.unscale_(opt)
    norm = nn.utils.clip_grad_norm_(net.parameters(), 1.0).item()
    before = scaler.get_scale()
    scaler.step(opt)
    scaler.update()
    time.sleep(PAUSE)
    if scaler.get_scale() < before:
        say(f"[loss_scaler] OVERFLOW! Rank 0 Skipping step. Attempted loss scale: {before:.0f}, reducing to {scaler.get_scale():.0f}")
    else:
        applied += 1
    say(f"iteration {step:4d}/{STEPS} | lm loss: {loss.item():.5f} | grad norm: {norm:.3f} | learning rate: {lr_at(step):.3E} | loss scale: {scaler.get_scale():.1f} | number of skipped iterations: {step - applied} | number of nan iterations: 0")
torch.save(net.state_dict(), "lm.pt")
say(f"done: {applied} of {STEPS} iterations applied, saved lm.pt")
