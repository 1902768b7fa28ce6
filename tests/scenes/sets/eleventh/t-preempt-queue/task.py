import argparse, os, signal, sys, time
import torch
from torch import nn

ap = argparse.ArgumentParser()
ap.add_argument("--dir"); ap.add_argument("--steps", type=int)
a = ap.parse_args()
torch.set_num_threads(1)
state_file = os.path.join(a.dir, "state.pt")
asked = []
signal.signal(signal.SIGTERM, lambda s, f: asked.append(s))

torch.manual_seed(1)
W = torch.randn(20, 3) / 4.5
net = nn.Sequential(nn.Linear(20, 64), nn.SiLU(), nn.Linear(64, 3))
opt = torch.optim.Adam(net.parameters(), lr=3e-3)
first = 1
if os.path.exists(state_file):
    s = torch.load(state_file)
    net.load_state_dict(s["net"]); opt.load_state_dict(s["opt"])
    first = s["step"] + 1
    print(f"resuming from {state_file} at step {first}")


def save(step):
    torch.save({"net": net.state_dict(), "opt": opt.state_dict(), "step": step}, state_file + ".tmp")
    os.replace(state_file + ".tmp", state_file)


for step in range(first, a.steps + 1):
    x = torch.randn(32, 20)
    loss = nn.functional.mse_loss(net(x), torch.sin(x @ W))
    opt.zero_grad(); loss.backward(); opt.step()
    time.sleep(0.12)
    if step % 10 == 0:
        print(f"step {step:4d}  loss {loss.item():.4f}")
    if step % 60 == 0:
        save(step)
    if asked:
        print(f"caught signal {asked[0]} (SIGTERM) at step {step}, saving state")
        save(step)
        sys.exit(75)
save(a.steps)
print("all steps done")
