"""Two-layer GCN on a synthetic citation graph, float16 autocast with loss scaling."""
import logging
import time

import torch
from torch import nn

logging.basicConfig(level=logging.INFO, format="[%(asctime)s][%(levelname)s] %(message)s", datefmt="%m-%d %H:%M:%S")
log = logging.getLogger()
torch.manual_seed(1)
torch.set_num_threads(1)
N, C = 400, 5
y = torch.randint(0, C, (N,))
same = (y[:, None] == y[None]).float()
A = (torch.rand(N, N) < 0.002 + 0.03 * same).float()
A = ((A + A.T + torch.eye(N)) > 0).float()
d = A.sum(1).rsqrt()
A = d[:, None] * A * d[None]
X = torch.randn(N, 32) + nn.functional.one_hot(y, C).float() @ torch.randn(C, 32) * 0.5
train = torch.rand(N) < 0.5


class GCN(nn.Module):
    def __init__(self):
        super().__init__()
        self.a, self.b = nn.Linear(32, 32), nn.Linear(32, C)

    def forward(self, x):
        return A @ self.b(torch.relu(A @ self.a(x)))


net = GCN()
opt = torch.optim.Adam(net.parameters(), lr=5e-3)
scaler = torch.amp.GradScaler("cpu", init_scale=2.0 ** 24, growth_interval=120)
for step in range(1, 281):
    with torch.autocast("cpu", dtype=torch.float16):
        out = net(X)
        loss = nn.functional.cross_entropy(out[train].float(), y[train])
    opt.zero_grad()
    scaler.scale(loss).backward()
    scaler.unscale_(opt)
    gn = torch.nn.utils.clip_grad_norm_(net.parameters(), 1.0)
    before = scaler.get_scale()
    scaler.step(opt)
    scaler.update()
    if scaler.get_scale() < before:
        log.warning("step %d: gradient overflow (norm %s), step skipped, loss scale %g -> %g", step, gn.item(), before,
                    scaler.get_scale())
    time.sleep(0.25)
    if step % 10 == 0:
        acc = (out.argmax(1) == y)[~train].float().mean().item()
        log.info("step %d/280 loss %.4f test acc %.3f scale %g", step, loss.item(), acc, scaler.get_scale())
torch.save(net.state_dict(), "gcn.pt")
log.info("done, gcn.pt written")
