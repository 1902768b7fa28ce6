import os, signal, sys, time
import torch, torch.nn as nn

torch.set_num_threads(1)
torch.manual_seed(0)
stop = False


def on_term(*_):
    global stop
    stop = True
    print("SIGTERM received: end of the time slice, will save after this step", flush=True)


signal.signal(signal.SIGTERM, on_term)
net = nn.Sequential(nn.Linear(40, 96), nn.GELU(), nn.Linear(96, 50))
opt = torch.optim.Adam(net.parameters(), 1e-3)
step, total = 0, 340
if os.path.exists("state.pt"):
    s = torch.load("state.pt")
    net.load_state_dict(s["net"]); opt.load_state_dict(s["opt"]); step = s["step"]
    print(f"loaded state.pt, continuing with update {step}", flush=True)
centroids = torch.randn(50, 40, generator=torch.Generator().manual_seed(8))
g = torch.Generator().manual_seed(step)


def save():
    torch.save({"net": net.state_dict(), "opt": opt.state_dict(), "step": step}, "state.tmp")
    os.replace("state.tmp", "state.pt")
    print(f"state.pt written at update {step}", flush=True)


while step < total and not stop:
    y = torch.randint(0, 50, (32,), generator=g)
    loss = nn.functional.cross_entropy(net(centroids[y] * 0.6 + torch.randn(32, 40, generator=g)), y)
    opt.zero_grad(); loss.backward(); opt.step()
    step += 1
    time.sleep(0.14)
    if step % 10 == 0:
        print(f"{time.strftime('%F %T')} | INFO | train_inner | {{\"epoch\": 1, \"num_updates\": {step}, \"loss\": \"{loss.item():.3f}\", \"ups\": \"4.9\"}}", flush=True)
save()
sys.exit(0 if step >= total else 85)
