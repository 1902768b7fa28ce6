"""Small seq2seq-like decoder in half precision with a dynamic loss scale."""
import time

import torch
import torch.nn as nn
import torch.nn.functional as F

torch.set_num_threads(1)
torch.manual_seed(6)
V, L, B, STEPS = 160, 20, 8, 460


def kv(level, **k):
    print(f"ts={time.strftime('%Y-%m-%dT%H:%M:%S')} level={level} " + " ".join(f"{a}={b}" for a, b in k.items()), flush=True)


net = nn.ModuleDict({"e": nn.Embedding(V, 64), "l1": nn.Linear(64 * 4, 192), "l2": nn.Linear(192, V)})
opt = torch.optim.Adam(net.parameters(), lr=2e-3)
scaler = torch.amp.GradScaler("cpu", init_scale=2.0 ** 18, growth_interval=24)
table = torch.randint(0, V, (V, 3))
skipped = 0
kv("info", msg='"start"', params=sum(p.numel() for p in net.parameters()), scale=int(scaler.get_scale()))
for step in range(1, STEPS + 1):
    x = torch.empty(B, L + 4, dtype=torch.long)
    x[:, :4] = torch.randint(0, V, (B, 4))
    for t in range(4, L + 4):
        x[:, t] = table[x[:, t - 1], torch.randint(0, 3, (B,))]
    ctx = x.unfold(1, 4, 1)[:, :-1]
    with torch.autocast("cpu", dtype=torch.float16):
        h = F.gelu(net["l1"](net["e"](ctx).flatten(2)))
        logits = net["l2"](h)
    loss = F.cross_entropy(logits.float().flatten(0, 1), x[:, 4:].flatten())
    opt.zero_grad()
    scaler.scale(loss).backward()
    scaler.unscale_(opt)
    gn = nn.utils.clip_grad_norm_(net.parameters(), 1.0)
    old = scaler.get_scale()
    scaler.step(opt)
    scaler.update()
    time.sleep(0.25)
    if scaler.get_scale() < old:
        skipped += 1
        kv("warn", msg='"gradient overflow, step skipped"', step=step, grad_norm=f"{gn:.3g}", loss_scale=int(scaler.get_scale()), skipped=skipped)
    if step % 8 == 0:
        kv("info", step=step, loss=f"{loss.item():.4f}", grad_norm=f"{gn:.3g}", loss_scale=int(scaler.get_scale()))
    if step % 80 == 0:
        torch.save({"net": net.state_dict(), "scaler": scaler.state_dict(), "step": step}, f"nmt_{step}.pt")
        kv("info", msg='"saved"', file=f"nmt_{step}.pt")
kv("info", msg='"done"', steps=STEPS, skipped=skipped, final_loss=f"{loss.item():.4f}")
