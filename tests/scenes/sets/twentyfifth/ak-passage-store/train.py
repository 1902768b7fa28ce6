"""Topic ranker over passages that are fetched from the store, one request a batch."""
import logging
import os
import time

import requests
import torch
import torch.nn as nn
import torch.nn.functional as F

logging.basicConfig(level=logging.INFO, format="%(asctime)s %(levelname)-7s %(message)s")
logging.getLogger("urllib3").setLevel(logging.WARNING)
log = logging.getLogger("ranker")
STEPS = 900


class Store:
    def __init__(self):
        while not os.path.exists("store.port"):
            time.sleep(0.2)
        self.url = f"http://127.0.0.1:{open('store.port').read()}/passages"
        self.session, self.told = requests.Session(), False
        self.session.trust_env = False

    def fetch(self):
        while True:
            r = self.session.get(self.url, timeout=30)
            if r.status_code == 200:
                return r.json()
            wait = int(r.headers.get("Retry-After", 5))
            if not self.told:
                log.info("store answers %d, Retry-After %d, being polite", r.status_code, wait)
                self.told = True
            time.sleep(wait)


def main():
    torch.manual_seed(0)
    torch.set_num_threads(1)
    store = Store()
    emb, head = nn.EmbeddingBag(300, 64), nn.Linear(64, 40)
    params = list(emb.parameters()) + list(head.parameters())
    opt = torch.optim.AdamW(params, lr=2e-3)
    mark, at = time.time(), 0
    for step in range(1, STEPS + 1):
        rows = store.fetch()
        y = torch.tensor([r[0] for r in rows])
        loss = F.cross_entropy(head(emb(torch.tensor([r[1] for r in rows]))), y)
        opt.zero_grad()
        loss.backward()
        opt.step()
        time.sleep(0.28)
        if step % 2 == 0:
            now = time.time()
            log.info("step %d/%d loss %.4f %.2f it/s", step, STEPS, loss.item(), (step - at) / (now - mark))
            mark, at = now, step
        if step % 50 == 0:
            torch.save({"emb": emb.state_dict(), "head": head.state_dict(), "opt": opt.state_dict(), "step": step},
                       "ckpt.tmp")
            os.replace("ckpt.tmp", "ckpt.pt")
            log.info("checkpoint at step %d", step)


if __name__ == "__main__":
    main()
