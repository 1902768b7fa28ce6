"""Two-tower recommender; after each sweep the users' vectors go to the feature store, one file a user."""
import logging
import os
import time

import numpy as np
import torch
import torch.nn as nn

torch.manual_seed(0)
torch.set_num_threads(1)
logging.basicConfig(level=logging.INFO, format="%(asctime)s [%(levelname)s] %(message)s", datefmt="%H:%M:%S")
log = logging.getLogger("twotower")
USERS, ITEMS, DIM = 3000, 800, 24
user, item = nn.Embedding(USERS, DIM), nn.Embedding(ITEMS, DIM)
opt = torch.optim.Adam([*user.parameters(), *item.parameters()], lr=5e-3)
taste, kind = torch.randn(USERS, 6), torch.randn(ITEMS, 6)
STORE = "store"


def export(version):
    d = f"{STORE}/v{version:03d}"
    os.makedirs(d, exist_ok=True)
    active = range((version * 97) % 500, USERS, 12)
    w = user.weight.detach().numpy()
    for u in active:
        np.save(f"{d}/u{u:05d}.npy", w[u].astype(np.float16))
    log.info("feature store: version v%03d published, %d user vectors", version, len(active))


log.info("two-tower: %d users, %d items, dim %d, store at %s", USERS, ITEMS, DIM, STORE)
step = 0
for sweep in range(1, 16):
    for _ in range(30):
        u = torch.randint(0, USERS, (512,))
        good = (taste[u] @ kind.T).topk(20, 1).indices
        pos = good[torch.arange(512), torch.randint(0, 20, (512,))]
        logits = user(u) @ item(pos).T
        loss = nn.functional.cross_entropy(logits, torch.arange(512))
        opt.zero_grad()
        loss.backward()
        opt.step()
        step += 1
        time.sleep(0.3)
        if step % 5 == 0:
            log.info("sweep %d step %d loss %.4f", sweep, step, loss.item())
    torch.save({"user": user.state_dict(), "item": item.state_dict(), "step": step}, "towers.pt")
    export(sweep)
log.info("finished after %d sweeps", sweep)
