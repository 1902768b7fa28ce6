import logging
import time
from pathlib import Path

import torch
from torch import nn
from transformers import BertConfig, BertModel, get_cosine_schedule_with_warmup

logging.basicConfig(level=logging.INFO, format="[%(asctime)s][%(name)s][%(levelname)s] - %(message)s")
log = logging.getLogger("rerank")
torch.set_num_threads(1)
torch.manual_seed(77)
g = torch.Generator().manual_seed(3)


class Reranker(nn.Module):
    def __init__(self):
        super().__init__()
        self.bert = BertModel(BertConfig(vocab_size=300, hidden_size=64, num_hidden_layers=2, num_attention_heads=2,
                                         intermediate_size=128), add_pooling_layer=True)
        self.score = nn.Linear(64, 1)

    def forward(self, ids):
        return self.score(self.bert(input_ids=ids).pooler_output).squeeze(-1)


def pairs(n):
    """Query and document share words if the document is relevant."""
    q, d = torch.randint(1, 300, (n, 6), generator=g), torch.randint(1, 300, (n, 14), generator=g)
    y = torch.randint(0, 2, (n,), generator=g)
    d[y == 1, :4] = 7
    return torch.cat([q, d], 1), y.float()


@torch.no_grad()
def evaluate(model, queries=700, depth=12):
    """MRR over all queries, every candidate scored with its query."""
    model.eval()
    total = 0.0
    for _ in range(queries):
        ids, _ = pairs(depth)
        ids[:, 6:] = torch.randint(8, 300, (depth, 14), generator=g)
        ids[0, 6:10] = 7
        s = model(ids)
        total += 1.0 / (1 + (s[1:] > s[0]).sum().item())
        time.sleep(0.03)
    model.train()
    return total / queries


def main():
    model, steps = Reranker(), 240
    opt = torch.optim.AdamW(model.parameters(), lr=4e-4)
    sched = get_cosine_schedule_with_warmup(opt, 20, steps)
    out = Path("exp/rerank")
    out.mkdir(parents=True, exist_ok=True)
    for step in range(1, steps + 1):
        ids, y = pairs(16)
        loss = nn.functional.binary_cross_entropy_with_logits(model(ids), y)
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        opt.step()
        sched.step()
        opt.zero_grad()
        time.sleep(0.1)
        if step % 20 == 0:
            log.info("step %d | loss %.4f | lr %.2e", step, loss.item(), sched.get_last_lr()[0])
        if step % 120 == 0:
            began = time.time()
            mrr = evaluate(model)
            log.info("step %d | full dev MRR@12 %.4f | took %.0f s", step, mrr, time.time() - began)
            torch.save(model.state_dict(), out / f"step{step}.pt")
    log.info("done, models in %s", out)


main()
