"""Evaluates a small checkpoint on several tasks, the way of the harnesses: one request after the other, a bar, a table."""
import json
import logging
import os
import random
import time

import torch
from tabulate import tabulate
from tqdm import tqdm
from transformers import GPT2Config, GPT2LMHeadModel

torch.set_num_threads(1)
torch.manual_seed(0)
random.seed(0)
PACE = float(os.environ.get("PACE", "0.4"))
logging.basicConfig(level=logging.INFO, format="%(asctime)s,%(msecs)03d INFO     [%(filename)s:%(lineno)d] %(message)s", datefmt="%Y-%m-%d:%H:%M:%S")
log = logging.getLogger("eval")
TASKS = {"copy_short": (3, 70), "arith_two_digits": (6, 90), "word_order": (9, 110), "copy_long": (24, 120)}
log.info("Initializing hf model, with arguments: {'pretrained': './tiny', 'dtype': 'float32'}")
model = GPT2LMHeadModel(GPT2Config(vocab_size=256, n_positions=128, n_embd=96, n_layer=3, n_head=4, bos_token_id=0, eos_token_id=0)).eval()
log.warning("generation parameters `temperature` may not be valid and may be ignored")
rows, all_ = [], {}
for name, (k, n) in TASKS.items():
    log.info("Building contexts for %s on rank 0...", name)
    hits, lls = [], []
    for i in tqdm(range(n), desc=f"Running loglikelihood requests [{name}]", mininterval=0.5):
        ctx = [random.randint(97, 122) for _ in range(k)]
        ids = torch.tensor([ctx + [32] + ctx] * 4)
        for j in range(1, 4):                         # three wrong answers
            for c in range(k + 1, 2 * k + 1):
                if random.random() < 0.5:
                    ids[j, c] = random.randint(97, 122)
        with torch.no_grad():
            lp = model(ids).logits.log_softmax(-1)
        ll = lp[:, k:-1].gather(2, ids[:, k + 1:, None]).sum((1, 2))
        hits.append(float(ll.argmax() == 0))
        lls.append(ll[0].item())
        time.sleep(PACE)
    acc = sum(hits) / n
    all_[name] = {"acc": acc, "ll": sum(lls) / n}
    rows.append([name, "acc", f"{acc:.4f}", f"± {(acc * (1 - acc) / n) ** 0.5:.4f}"])
    json.dump(all_, open("results.json", "w"), indent=1)
    log.info("%s: acc %.4f, mean loglikelihood %.2f", name, acc, all_[name]["ll"])
print(tabulate(rows, ["Tasks", "Metric", "Value", "Stderr"], tablefmt="github"), flush=True)
