import logging
import time

import torch
from torch import nn

from saver import Saver

logging.basicConfig(level=logging.INFO, format="%(asctime)s.%(msecs)03d %(levelname).1s %(name)s] %(message)s", datefmt="%m%d %H:%M:%S")
log = logging.getLogger("twotower")
torch.manual_seed(0)
torch.set_num_threads(1)
USERS, ITEMS, D = 20_000, 45_000, 32
users, items = nn.Embedding(USERS, D, sparse=True), nn.Embedding(ITEMS, D, sparse=True)
for e in (users, items):
    nn.init.normal_(e.weight, std=0.1)
opt = torch.optim.SparseAdam([*users.parameters(), *items.parameters()], lr=5e-3)
saver = Saver("snapshots")
log.info("tables: users %dx%d, items %dx%d", USERS, D, ITEMS, D)
window, t0 = [], time.time()
for step in range(1, 1301):
    u = torch.randint(0, 400, (256,)) ** 2 % USERS
    i = (u * 7 + torch.randint(0, 3, (256,))) % ITEMS
    eu, ei = users(u), items(i)
    logits = eu @ ei.T / 0.2
    loss = nn.functional.cross_entropy(logits, torch.arange(256))
    opt.zero_grad()
    loss.backward()
    opt.step()
    time.sleep(0.04)
    window.append(loss.item())
    if step % 25 == 0:
        log.info("step=%d in_batch_softmax=%.4f examples/s=%.0f", step, sum(window) / len(window), 25 * 256 / (time.time() - t0))
        window, t0 = [], time.time()
    if step % 100 == 0:
        saver.submit(step, {"users": users.weight.detach().numpy(), "items": items.weight.detach().numpy()})
log.info("trained")
