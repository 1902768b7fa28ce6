import logging
import os
import sys
import time

os.environ.setdefault("OMP_NUM_THREADS", "1")
import torch
import torch.nn as nn

logging.basicConfig(stream=sys.stderr, level=logging.INFO, format="[%(asctime)s,%(msecs)03d][%(name)s][%(levelname)s] - %(message)s",
                    datefmt="%Y-%m-%d %H:%M:%S")
log = logging.getLogger("train")
torch.manual_seed(0)


def tuned(gm, example_inputs):
    """Own compiler backend: times candidates of thread and layout settings and keeps the fastest. Slow, and silent."""
    best = None
    for cand in range(14):
        with torch.no_grad():
            t0 = time.perf_counter()
            for _ in range(3):
                gm(*example_inputs)
            dt = time.perf_counter() - t0
        best = dt if best is None else min(best, dt)
        time.sleep(2.0)                          # the candidate is built in another process in the real one
    return gm.forward


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.a, self.b, self.c = nn.Linear(32, 96), nn.Linear(96, 96), nn.Linear(96, 6)

    def forward(self, x):
        return self.c(torch.relu(self.b(torch.relu(self.a(x)))))


model = Net()
fast = torch.compile(model, backend=tuned, dynamic=False)
opt = torch.optim.AdamW(model.parameters(), lr=2e-3)
teacher = torch.randn(32, 6)


def batch(n):
    x = torch.randn(n, 32)
    return x, (x @ teacher).argmax(1)


log.info("compiling on the first step")
for step in range(1, 161):
    x, y = batch(64)
    loss = nn.functional.cross_entropy(fast(x), y)
    opt.zero_grad()
    loss.backward()
    opt.step()
    time.sleep(0.2)
    if step == 1 or step % 10 == 0:
        log.info("step %d | loss %.4f", step, loss.item())
    if step == 80:
        with torch.no_grad():                    # another shape and no grad: compiles again
            x, y = batch(256)
            acc = (fast(x).argmax(1) == y).float().mean().item()
        log.info("eval | acc %.4f", acc)
torch.save(model.state_dict(), "net.pt")
log.info("saved net.pt, done")
