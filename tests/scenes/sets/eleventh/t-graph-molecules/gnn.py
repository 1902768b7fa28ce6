import os
os.environ["OMP_NUM_THREADS"] = "1"
import sys, time
import torch
from torch import nn
from torch.utils.tensorboard import SummaryWriter

torch.set_num_threads(1)
torch.manual_seed(0)
N, F = 48, 24


def molecules(b):
    a = (torch.rand(b, N, N) < 0.06).float()
    a = ((a + a.transpose(1, 2)) > 0).float() + torch.eye(N)
    x = torch.randn(b, N, F)
    y = torch.tanh((a @ x[..., :1]).squeeze(-1)).mean(1)
    return a / a.sum(-1, keepdim=True), x, y


class GNN(nn.Module):
    def __init__(self, d=64, layers=4):
        super().__init__()
        self.inp = nn.Linear(F, d)
        self.lin = nn.ModuleList(nn.Linear(2 * d, d) for _ in range(layers))
        self.out = nn.Linear(d, 1)

    def forward(self, a, x):
        h = self.inp(x)
        for lin in self.lin:
            h = torch.relu(lin(torch.cat([h, a @ h], -1))) + h
        return self.out(h.mean(1))[:, 0]


net = GNN()
opt = torch.optim.Adam(net.parameters(), lr=1e-3)
tb = SummaryWriter("tb")
running, history, t0 = 0, [], time.time()
for it in range(1, 2001):
    a, x, y = molecules(6)
    loss = nn.functional.mse_loss(net(a, x), y)
    opt.zero_grad(); loss.backward(retain_graph=True); opt.step()
    history.append(loss)
    time.sleep(0.12)
    if it % 10 == 0:
        running = sum(h.item() for h in history[-10:]) / 10
        tb.add_scalar("train/mse", running, it)
        print(f"iter {it:5d}/2000  mse {running:.5f}  {it / (time.time() - t0):.2f} it/s", flush=True)
    if it % 100 == 0:
        torch.save(net.state_dict(), "gnn.pt")
        recent = torch.stack(history[-100:]).detach()
        print(f"iter {it:5d}  last 100: mean {recent.mean():.5f} sd {recent.std():.5f}", flush=True)
