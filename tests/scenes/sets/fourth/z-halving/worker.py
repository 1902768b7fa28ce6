import argparse, json, math, os, time
import torch

p = argparse.ArgumentParser()
p.add_argument("--id", type=int)
p.add_argument("--lr", type=float)
p.add_argument("--momentum", type=float)
a = p.parse_args()
torch.manual_seed(a.id)
torch.set_num_threads(1)
net = torch.nn.Sequential(torch.nn.Linear(20, 64), torch.nn.Tanh(), torch.nn.Linear(64, 1))
opt = torch.optim.SGD(net.parameters(), lr=a.lr, momentum=a.momentum)
w = torch.randn(20, 1, generator=torch.Generator().manual_seed(0))
for step in range(1, 121):
    x = torch.randn(64, 20)
    loss = (net(x) - x @ w).pow(2).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
    time.sleep(0.2)
    if step % 10 == 0:
        print(f"trial {a.id} lr={a.lr:g} momentum={a.momentum:g} step {step}/120 loss={loss.item():.5g}", flush=True)
        with open(f"reports/{a.id}.tmp", "w") as f:
            json.dump({"step": step, "loss": loss.item() if math.isfinite(loss.item()) else 1e30}, f)
        os.replace(f"reports/{a.id}.tmp", f"reports/{a.id}.json")
torch.save(net.state_dict(), f"reports/{a.id}.pt")
