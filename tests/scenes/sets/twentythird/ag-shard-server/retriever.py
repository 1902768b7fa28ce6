"""Dual encoder with in-batch and mined negatives; shards come over HTTP."""
import logging
import os
import time

import requests
import torch
import torch.nn as nn
import torch.nn.functional as F

logging.basicConfig(level=logging.INFO, format="%(asctime)s | %(levelname)-7s | %(message)s")
log = logging.getLogger("retriever")
logging.getLogger("urllib3").setLevel(logging.WARNING)
BASE = f"http://127.0.0.1:{open('port').read().strip()}"
TIMEOUT, TRIES = 10, 30


def fetch(path, optional=False):
    for attempt in range(1, TRIES + 1):
        try:
            r = requests.get(f"{BASE}/{path}", timeout=TIMEOUT)
            if r.status_code == 404 and optional:
                return None
            r.raise_for_status()
            return r.json()
        except requests.exceptions.RequestException as e:
            log.warning("GET /%s: %s (attempt %d/%d)", path, e, attempt, TRIES)
            time.sleep(min(2 * attempt, 15))
    raise RuntimeError(f"shard server does not answer: {path}")


torch.manual_seed(9)
os.makedirs("ckpt", exist_ok=True)
enc = nn.EmbeddingBag(200, 64)
opt = torch.optim.Adam(enc.parameters(), 3e-3)
step = 0
for shard in range(60):
    pos = torch.tensor(fetch(f"passages/{shard}"))
    neg = fetch(f"hardneg/{shard}", optional=True)
    log.info("shard %d: %d passages, hard negatives: %s", shard, len(pos), "yes" if neg else "none, in-batch only")
    for i in range(0, 64, 8):
        p = pos[i:i + 8]
        q = p[:, torch.randperm(8)[:3]]
        cand = enc(p)
        if neg:
            cand = torch.cat([cand, enc(torch.tensor(neg[i:i + 8]))])
        loss = F.cross_entropy(enc(q) @ cand.T / 4, torch.arange(8))
        opt.zero_grad()
        loss.backward()
        opt.step()
        step += 1
        time.sleep(0.28)
    log.info("step %d loss %.4f", step, loss.item())
    if shard % 6 == 5:
        torch.save(enc.state_dict(), f"ckpt/enc-{step}.pt")
        log.info("saved ckpt/enc-%d.pt", step)
log.info("finished")
