"""Cross scoring with hard negatives mined from the last epochs' embeddings."""
import json, logging, sys, time
import torch
from torch import nn

logging.basicConfig(stream=sys.stdout, level=logging.INFO, format="%(asctime)s|%(levelname)s|%(message)s")
log = logging.getLogger("rerank")


class Bank:
    def __init__(self):
        self.items = []

    def add(self, emb):
        self.items.append(emb)

    def negatives(self, q):
        pool = self.items[-1]
        return pool[(q.detach() @ pool.T).argmax(1)]


def main():
    torch.manual_seed(3)
    q_tower, d_tower = nn.Linear(64, 2048), nn.Linear(64, 2048)
    opt = torch.optim.Adam([*q_tower.parameters(), *d_tower.parameters()], lr=1e-3)
    bank = Bank()
    mix = torch.randn(64, 64) / 8
    for step in range(1, 601):
        x = torch.randn(256, 64)
        q, d = (nn.functional.normalize(v, dim=1) for v in (q_tower(x), d_tower(x @ mix)))
        neg = bank.negatives(q) if bank.items else d.roll(1, 0)
        bank.add(d)
        pos_s, neg_s = 10 * (q * d).sum(1), 10 * (q * neg.detach()).sum(1)
        loss = nn.functional.softplus(neg_s - pos_s).mean()
        opt.zero_grad()
        loss.backward(retain_graph=False)
        opt.step()
        time.sleep(0.14)
        if step % 10 == 0:
            log.info(json.dumps({"step": step, "loss": round(loss.item(), 4), "bank": len(bank.items)}))
    torch.save({"q": q_tower.state_dict(), "d": d_tower.state_dict()}, "rerank.pt")
    log.info("saved rerank.pt")


if __name__ == "__main__":
    main()
