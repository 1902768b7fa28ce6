import argparse, os, sys, time, torch
from torch import nn
a = argparse.ArgumentParser(); a.add_argument("--budget", type=float); a = a.parse_args(); end = time.time() + a.budget
torch.set_num_threads(1); torch.manual_seed(0); g = torch.Generator().manual_seed(0)
X = torch.randn(4000, 10, generator=g); y = (X[:, :1] * X[:, 1:2] + .3 * torch.randn(4000, 1, generator=g) > 0).float()
net = nn.Sequential(nn.Linear(10, 32), nn.ReLU(), nn.Linear(32, 1)); opt = torch.optim.Adam(net.parameters(), 2e-3); step = 0
if os.path.exists("ck.pt"):
    s = torch.load("ck.pt"); net.load_state_dict(s["net"]); opt.load_state_dict(s["opt"]); step = s["step"]; print(f"resumed from ck.pt at step {step}")
def save(): torch.save({"net": net.state_dict(), "opt": opt.state_dict(), "step": step}, "ck.tmp"); os.replace("ck.tmp", "ck.pt")
while step < 500:
    k = torch.randint(0, 4000, (128,)); loss = nn.functional.binary_cross_entropy_with_logits(net(X[k]), y[k])
    opt.zero_grad(); loss.backward(); opt.step(); step += 1
    if step % 20 == 0: print(f"step {step}/500 bce {loss.item():.4f}")
    if time.time() > end: save(); print(f"budget reached, saved ck.pt at step {step}"); sys.exit(75)
    time.sleep(.08)
save(); print("training complete")
