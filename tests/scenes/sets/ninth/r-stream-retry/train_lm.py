import json
import logging
import os
import queue
import threading
import time
import urllib.request

import torch
from torch import nn

logging.basicConfig(level=logging.INFO, format="%(asctime)s %(threadName)s %(levelname)s: %(message)s")
log = logging.getLogger(__name__)
while not os.path.exists("mirror.port"):
    time.sleep(0.2)
BASE = f"http://127.0.0.1:{open('mirror.port').read()}/part-"
PARTS, box = 24, queue.Queue(maxsize=2)


def fetch(k, tries=8):
    for n in range(1, tries + 1):
        try:
            with urllib.request.urlopen(f"{BASE}{k:03d}", timeout=10) as r:
                return json.load(r)
        except Exception as e:
            if n == tries:
                raise
            pause = min(0.5 * 2 ** n, 5)
            log.warning("part-%03d failed (%s: %s), retry %d/%d in %.1f s", k, type(e).__name__, e, n, tries - 1, pause,
                        exc_info=n >= 2)
            time.sleep(pause)


def loader():
    for k in range(PARTS):
        box.put(fetch(k))
    box.put(None)
    log.info("all %d parts are here", PARTS)


class Lm(nn.Module):
    def __init__(self, d=24):
        super().__init__()
        self.e, self.r, self.o = nn.Embedding(10, d), nn.GRU(d, d, batch_first=True), nn.Linear(d, 10)

    def forward(self, x):
        return self.o(self.r(self.e(x))[0])


threading.Thread(target=loader, name="fetch", daemon=True).start()
torch.manual_seed(0)
net, ids, step = Lm(), {}, 0
opt = torch.optim.Adam(net.parameters(), 2e-3)
while (part := box.get()) is not None:
    x = torch.tensor([[ids.setdefault(w, len(ids)) for w in row] for row in part])
    for rows in x.split(8):
        loss = nn.functional.cross_entropy(net(rows[:, :-1]).flatten(0, 1), rows[:, 1:].flatten())
        opt.zero_grad()
        loss.backward()
        opt.step()
        step += 1
        time.sleep(0.25)
        if step % 8 == 0:
            log.info("step %d loss %.4f (queue %d)", step, loss.item(), box.qsize())
torch.save(net.state_dict(), "lm.pt")
log.info("finished after %d steps", step)
