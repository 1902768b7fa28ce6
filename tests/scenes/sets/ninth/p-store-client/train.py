import argparse
import http.client
import json
import logging
import time

import torch
from transformers import GPTNeoXConfig, GPTNeoXForCausalLM, get_cosine_schedule_with_warmup

logging.basicConfig(format="%(levelname).1s%(asctime)s %(name)s:%(lineno)d] %(message)s", datefmt="%m%d %H:%M:%S", level=logging.INFO)
log = logging.getLogger("train")


def shards(store, n):
    for k in range(n):
        conn = http.client.HTTPConnection(store)
        conn.request("GET", f"/pile-mini/{k:05d}.json")
        rows = json.loads(conn.getresponse().read())
        conn.close()
        log.info("shard %05d: %d rows", k, len(rows))
        yield torch.tensor(rows)


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--store", required=True)
    ap.add_argument("--shards", type=int, default=60)
    ap.add_argument("--bs", type=int, default=8)
    a = ap.parse_args()
    torch.manual_seed(5)
    model = GPTNeoXForCausalLM(GPTNeoXConfig(vocab_size=256, hidden_size=64, num_hidden_layers=2, num_attention_heads=4,
                                             intermediate_size=128, max_position_embeddings=32, bos_token_id=0, eos_token_id=0))
    total = a.shards * 96 // a.bs
    opt = torch.optim.AdamW(model.parameters(), lr=2e-3, weight_decay=0.05)
    sched = get_cosine_schedule_with_warmup(opt, 20, total)
    log.info("%d parameters, %d steps", model.num_parameters(), total)
    step = 0
    for rows in shards(a.store, a.shards):
        for x in rows.split(a.bs):
            loss = model(input_ids=x, labels=x).loss
            loss.backward()
            torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            opt.step()
            sched.step()
            opt.zero_grad()
            step += 1
            time.sleep(0.15)
            if step % 4 == 0:
                log.info("step %d/%d loss=%.3f lr=%.2e", step, total, loss.item(), sched.get_last_lr()[0])
        if step % 96 == 0:
            torch.save({"model": model.state_dict(), "step": step}, "last.pt")
            log.info("checkpoint last.pt (step %d)", step)
    log.info("training complete")


main()
