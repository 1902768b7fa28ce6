"""Word LM. On USR1: save everything (data position, generators too), leave with 42."""
import os
import signal
import sys
import time

import torch
import torch.nn as nn
import torch.nn.functional as F

torch.set_num_threads(1)
torch.manual_seed(8)
V, L, B, STEPS = 180, 24, 10, 420
table = torch.randint(0, V, (V, 3), generator=torch.Generator().manual_seed(4))
net = nn.ModuleDict({"e": nn.Embedding(V, 80), "r": nn.GRU(80, 128, batch_first=True), "o": nn.Linear(128, V)})
opt = torch.optim.AdamW(net.parameters(), lr=2e-3)
sched = torch.optim.lr_scheduler.CosineAnnealingLR(opt, STEPS, 1e-4)
gen = torch.Generator().manual_seed(77)
step, ema, usr1 = 0, None, False
signal.signal(signal.SIGUSR1, lambda *_: globals().__setitem__("usr1", True))


def save():
    torch.save({"net": net.state_dict(), "opt": opt.state_dict(), "sched": sched.state_dict(), "gen": gen.get_state(),
                "step": step, "ema": ema}, "state.pt~")
    os.rename("state.pt~", "state.pt")
    print(f"saved state.pt at step {step}")


if os.path.exists("state.pt"):
    s = torch.load("state.pt")
    net.load_state_dict(s["net"])
    opt.load_state_dict(s["opt"])
    sched.load_state_dict(s["sched"])
    gen.set_state(s["gen"])
    step, ema = s["step"], s["ema"]
    print(f"going on from state.pt, step {step}, smoothed loss {ema:.4f}")
while step < STEPS:
    x = torch.empty(B, L, dtype=torch.long)
    x[:, 0] = torch.randint(0, V, (B,), generator=gen)
    for t in range(1, L):
        x[:, t] = table[x[:, t - 1], torch.randint(0, 3, (B,), generator=gen)]
    h, _ = net["r"](net["e"](x[:, :-1]))
    loss = F.cross_entropy(net["o"](h).flatten(0, 1), x[:, 1:].flatten())
    opt.zero_grad()
    loss.backward()
    opt.step()
    sched.step()
    step += 1
    ema = loss.item() if ema is None else 0.9 * ema + 0.1 * loss.item()
    time.sleep(0.22)
    if step % 10 == 0:
        print(f"step {step}/{STEPS}  loss {ema:.4f}  lr {sched.get_last_lr()[0]:.2e}")
    if step % 60 == 0:
        save()
    if usr1:
        print(f"USR1 received at step {step}: time limit is near")
        save()
        sys.exit(42)
save()
print("all steps done")
