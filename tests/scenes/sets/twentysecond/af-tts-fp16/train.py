"""Duration predictor of a TTS voice, half precision weights with a dynamic loss scale (apex style)."""
import json
import sys
import time

import torch
import torch.nn as nn

torch.set_num_threads(1)
torch.manual_seed(9)
master = nn.Sequential(nn.Linear(20, 48), nn.Tanh(), nn.Linear(48, 1))
half = nn.Sequential(nn.Linear(20, 48), nn.Tanh(), nn.Linear(48, 1)).half()
opt = torch.optim.Adam(master.parameters(), 2e-3)
scale, good = 2.0 ** 20, 0
target = torch.randn(20, 1) / 4
for step in range(1, 321):
    with torch.no_grad():
        for h, m in zip(half.parameters(), master.parameters()):
            h.copy_(m)
    x = torch.randn(64, 20)
    y = (x @ target).exp().clamp(max=20)
    loss = nn.functional.smooth_l1_loss(half(x.half()).float(), y)
    half.zero_grad()
    (loss * scale).backward()
    grads = [h.grad.float() / scale for h in half.parameters()]
    if all(torch.isfinite(g).all() for g in grads):
        for m, g in zip(master.parameters(), grads):
            m.grad = g
        opt.step()
        good += 1
        if good % 30 == 0:
            scale *= 2
    else:
        scale /= 2
        good = 0
        print(f"Gradient overflow (inf/nan in gradients). Skipping step {step}, loss scaler reducing loss scale to {scale:g}",
              file=sys.stderr, flush=True)
    if step % 4 == 0:
        norm = sum(g.pow(2).sum() for g in grads).sqrt().item()
        print(json.dumps({"step": step, "loss": round(loss.item(), 4), "grad_norm": norm, "loss_scale": scale}), flush=True)
    if step % 80 == 0:
        torch.save(master.state_dict(), "durations.pt")
        print(json.dumps({"step": step, "event": "saved durations.pt"}), flush=True)
    time.sleep(0.35)
print(json.dumps({"event": "end", "steps": step}), flush=True)
