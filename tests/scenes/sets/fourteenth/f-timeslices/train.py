import argparse, os, signal, sys, time
import torch
from torch import nn

ap = argparse.ArgumentParser()
ap.add_argument("--resume", action="store_true")
ap.add_argument("--iters", type=int, default=360)
a = ap.parse_args()
stop = False


def on_term(sig, frame):
    global stop
    stop = True
    print(f"[{time.strftime('%X')}] got signal {sig}, will stop after this iteration", flush=True)


signal.signal(signal.SIGTERM, on_term)
torch.manual_seed(0)
w = torch.randn(16, 4)
net = nn.Sequential(nn.Linear(16, 48), nn.GELU(), nn.Linear(48, 4))
opt = torch.optim.AdamW(net.parameters(), lr=3e-3)
it = 0
if a.resume and os.path.exists("state.pt"):
    s = torch.load("state.pt")
    net.load_state_dict(s["net"]); opt.load_state_dict(s["opt"]); it = s["it"]
    print(f"[{time.strftime('%X')}] resuming at iteration {it}", flush=True)


def save():
    torch.save({"net": net.state_dict(), "opt": opt.state_dict(), "it": it}, "state.tmp")
    os.replace("state.tmp", "state.pt")


while it < a.iters:
    x = torch.randn(64, 16)
    loss = nn.functional.mse_loss(net(x), torch.sin(x @ w / 4))
    opt.zero_grad(); loss.backward(); opt.step()
    it += 1
    time.sleep(0.2)
    if it % 10 == 0:
        print(f"[{time.strftime('%X')}] iter {it}/{a.iters} loss {loss.item():.5f}", flush=True)
    if it % 60 == 0:
        save()
    if stop:
        save()
        print(f"[{time.strftime('%X')}] state saved at iteration {it}, bye", flush=True)
        sys.exit(143)
save()
open("DONE", "w").write("ok")
print("all iterations done", flush=True)
