import os
os.environ.setdefault("OMP_NUM_THREADS", "1")
import time
import torch
from torch import nn

torch.set_num_threads(1)
torch.manual_seed(40)
net = nn.Sequential(nn.Linear(16, 48), nn.ReLU(), nn.Linear(48, 3))
opt = torch.optim.SGD(net.parameters(), lr=0.05)
print("training colours, 20 passes", flush=True)
for p in range(1, 21):
    total = 0.0
    for _ in range(30):
        x = torch.randn(16, 16)
        loss = nn.functional.cross_entropy(net(x), x[:, :3].argmax(1))
        opt.zero_grad()
        loss.backward()
        opt.step()
        total += loss.item()
        time.sleep(0.12)
    print(f"pass {p} of 20: mean loss {total / 30:.4f}", flush=True)
    torch.save(net.state_dict(), "colours.pt")
print("trained", flush=True)
