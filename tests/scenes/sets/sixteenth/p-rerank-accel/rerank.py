import json
import time
from pathlib import Path

import torch
from accelerate import Accelerator
from accelerate.logging import get_logger
from torch import nn

torch.set_num_threads(1)
import logging
logging.basicConfig(level=logging.INFO, format="%(asctime)s | %(levelname)s | %(name)s | %(message)s")
logger = get_logger("rerank")


class Pairs(torch.utils.data.IterableDataset):
    """Query/passage pairs with clicks, one JSON object a line, one file per rank."""

    def __init__(self, path):
        self.path = path

    def __iter__(self):
        with open(self.path) as f:
            for line in f:
                r = json.loads(line)
                x = torch.tensor([hash_(w) for w in (r["query"] + " " + r["passage"]).split()][:12])
                yield nn.functional.pad(x, (0, 12 - len(x))), float(r["clicks"] / r["views"])


def hash_(w):
    return sum(ord(c) * 31**i for i, c in enumerate(w)) % 997 + 1


def export(rank, path, n=1600):
    g = torch.Generator().manual_seed(rank)
    words = "red blue fast slow car bike train map road city hill lake".split()
    with open(path, "w") as f:
        for i in range(n):
            pick = [words[j] for j in torch.randint(0, len(words), (6,), generator=g).tolist()]
            views = int(torch.randint(1, 40, (1,), generator=g)) if (rank, i) != (1, 407) else 0
            clicks = int(views * (0.7 if pick[0] in pick[2:] else 0.2))
            f.write(json.dumps({"query": " ".join(pick[:2]), "passage": " ".join(pick[2:]), "clicks": clicks, "views": views}) + "\n")


def main():
    acc = Accelerator(cpu=True)
    path = Path(f"pairs.{acc.process_index}.jsonl")
    export(acc.process_index, path)
    torch.manual_seed(0)
    model = nn.Sequential(nn.Embedding(1000, 32), nn.Flatten(), nn.Linear(384, 32), nn.ReLU(), nn.Linear(32, 1))
    opt = torch.optim.Adam(model.parameters(), lr=2e-3)
    model, opt = acc.prepare(model, opt)
    step = 0
    for epoch in range(3):
        for x, y in torch.utils.data.DataLoader(Pairs(path), batch_size=8):
            loss = nn.functional.mse_loss(model(x).squeeze(1).sigmoid(), y.float())
            acc.backward(loss)
            opt.step()
            opt.zero_grad()
            time.sleep(0.45)
            step += 1
            if step % 5 == 0:
                mean = acc.reduce(loss.detach(), "mean").item()
                logger.info(f"epoch {epoch} step {step} loss {mean:.5f}")
        acc.save_state(f"state_{epoch}")
    acc.end_training()


main()
