import os, sys, time, torch
from torch import nn
torch.set_num_threads(1); torch.manual_seed(0)
net = nn.Sequential(nn.Linear(6, 32), nn.SiLU(), nn.Linear(32, 3)); o = torch.optim.Adam(net.parameters(), 3e-3); W = torch.randn(6, 3)
for s in range(1, 301):
    x = torch.randn(32, 6); l = nn.functional.cross_entropy(net(x), (x @ W + .5 * torch.randn(32, 3)).argmax(1)); o.zero_grad(); l.backward(); o.step(); time.sleep(.1)
    if s % 10 == 0: print(f"step {s} loss {l.item():.4f}")
    if s % 50 == 0:
        torch.save(net.state_dict(), f"{sys.argv[1]}/tmp.part"); os.rename(f"{sys.argv[1]}/tmp.part", f"{sys.argv[1]}/ck{s:05d}.pt"); print("wrote", f"ck{s:05d}.pt")
print("training over after 300 steps")
