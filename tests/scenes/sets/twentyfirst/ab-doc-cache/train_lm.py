import logging
import os
import time

import torch
import torch.nn.functional as F
from transformers import GPT2Config, GPT2LMHeadModel

from docs import TokenCache, documents

logging.basicConfig(format="%(asctime)s | %(levelname)s | %(name)s | %(message)s", level=logging.INFO)
log = logging.getLogger("legal-lm")
STEPS, BATCH, SEQ = 320, 8, 96
torch.manual_seed(1)
tok = lambda s: [min(ord(c), 127) for c in s]
cache = TokenCache("scratch/tokens", tok)
stream = documents()
model = GPT2LMHeadModel(GPT2Config(vocab_size=128, n_embd=48, n_layer=2, n_head=4, n_positions=128))
opt = torch.optim.AdamW(model.parameters(), lr=2e-3)
os.makedirs("ckpt", exist_ok=True)
log.info("parameters %d, cache in %s", sum(p.numel() for p in model.parameters()), cache.root)
for step in range(1, STEPS + 1):
    rows = []
    for _ in range(BATCH):
        ids = cache(next(stream)).astype("int64")
        rows.append(torch.nn.functional.pad(torch.from_numpy(ids[:SEQ]), (0, max(0, SEQ - len(ids))), value=0))
    x = torch.stack(rows)
    logits = model(x).logits
    loss = F.cross_entropy(logits[:, :-1].reshape(-1, 128), x[:, 1:].reshape(-1), ignore_index=0)
    loss.backward()
    opt.step()
    opt.zero_grad()
    time.sleep(0.35)
    if step % 5 == 0:
        log.info("step %d/%d loss %.4f cached %d hits %d", step, STEPS, loss.item(), cache.misses, cache.hits)
    if step % 40 == 0:
        torch.save(model.state_dict(), f"ckpt/step{step:05d}.pt")
        log.info("checkpoint written: ckpt/step%05d.pt", step)
log.info("done")
