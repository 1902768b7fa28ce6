import argparse
import logging
import time
from pathlib import Path

import numpy as np
import torch
from torch import nn

logging.basicConfig(level=logging.INFO, format="%(asctime)s | %(levelname)-7s | %(message)s")
log = logging.getLogger("finetune")


class Model(nn.Module):
    def __init__(self, vocab=512, dim=48):
        super().__init__()
        self.emb = nn.Embedding(vocab, dim)
        self.rnn = nn.GRU(dim, dim, batch_first=True)
        self.head = nn.Linear(dim, vocab)

    def forward(self, x):
        h, _ = self.rnn(self.emb(x))
        return self.head(h)


def main():
    p = argparse.ArgumentParser()
    p.add_argument("--data", type=Path)
    p.add_argument("--out", type=Path)
    p.add_argument("--lr", type=float, default=2e-3)
    a = p.parse_args()
    torch.manual_seed(0)
    model = Model()
    opt = torch.optim.AdamW(model.parameters(), lr=a.lr)
    first, step = 0, 0
    last = a.out / "last.pt"
    if last.exists():
        state = torch.load(last)
        model.load_state_dict(state["model"])
        opt.load_state_dict(state["opt"])
        first, step = state["next_shard"], state["step"]
        log.info("resuming from %s at shard %d, step %d", last, first, step)
    shards = sorted(a.data.glob("shard_*.npz"))
    for i in range(first, len(shards)):
        tokens = torch.from_numpy(np.load(shards[i])["tokens"])
        rows = tokens[: len(tokens) // 65 * 65].view(-1, 65)
        for k in range(0, len(rows), 12):
            batch = rows[k : k + 12]
            logits = model(batch[:, :-1])
            loss = nn.functional.cross_entropy(logits.flatten(0, 1), batch[:, 1:].flatten())
            opt.zero_grad()
            loss.backward()
            gn = nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            opt.step()
            step += 1
            time.sleep(0.3)
            if step % 5 == 0:
                log.info("shard %d step %d loss %.4f grad_norm %.3f", i, step, loss.item(), gn)
        a.out.mkdir(exist_ok=True)
        torch.save({"model": model.state_dict(), "opt": opt.state_dict(), "next_shard": i + 1, "step": step}, last)
        log.info("checkpoint after shard %d -> %s", i, last)
    log.info("done after %d steps", step)


if __name__ == "__main__":
    main()
