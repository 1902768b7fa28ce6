"""Evaluates a checkpoint on a handful of multiple-choice tasks and one of generation; nothing is trained here."""
import json
import logging
import os
import random
import time

import torch
import torch.nn.functional as F
from tqdm import tqdm
from transformers import LlamaConfig, LlamaForCausalLM

logging.basicConfig(format="%(asctime)s,%(msecs)03d INFO     [%(filename)s:%(lineno)d] %(message)s", datefmt="%Y-%m-%d:%H:%M:%S", level=logging.INFO)
log = logging.getLogger("eval")
PACE = float(os.environ.get("PACE", 0.3))
torch.set_num_threads(1)
torch.manual_seed(6)
model = LlamaForCausalLM(LlamaConfig(vocab_size=256, hidden_size=96, intermediate_size=192, num_hidden_layers=2, num_attention_heads=4,
                                     num_key_value_heads=2, max_position_embeddings=256)).eval()
log.info("Loaded checkpoint (%d parameters)", model.num_parameters())
TASKS = {"arc_easy": (100, 4), "piqa": (90, 2), "winogrande": (90, 2), "boolq": (80, 2)}
r = random.Random(0)


@torch.no_grad()
def score(context, choice):
    ids = torch.tensor([list((context + choice).encode())])
    lp = F.log_softmax(model(input_ids=ids).logits[0, :-1], -1)
    n = len(choice.encode())
    return lp[-n:].gather(1, ids[0, -n:, None]).sum().item() / n


results = {}
for task, (n, k) in TASKS.items():
    log.info("Task: %s; number of docs: %d; requests: %d", task, n, n * k)
    hits = []
    for i in tqdm(range(n), desc=f"Running loglikelihood requests ({task})", mininterval=1.0):
        q = f"Question {r.randint(0, 999)}: {' '.join(r.choice(['red', 'blue', 'old', 'cold', 'fast']) for _ in range(8))}?\nAnswer: "
        options = [" ".join(r.choice(["stone", "river", "glass", "bird"]) for _ in range(3)) for _ in range(k)]
        s = [score(q, o) for o in options]
        hits.append(s.index(max(s)) == r.randrange(k))
        time.sleep(PACE)
        if (i + 1) % 30 == 0:
            log.info("%s: %d/%d docs, running acc %.4f", task, i + 1, n, sum(hits) / len(hits))
    p = sum(hits) / n
    results[task] = {"acc": p, "stderr": (p * (1 - p) / n) ** 0.5}
log.info("Task: gsm_like; generate_until, 24 docs")
done = 0
with torch.no_grad():
    for i in range(24):
        ids = torch.tensor([list(f"Tom has {r.randint(2, 60)} nuts. He eats 2. How many are left? ".encode())])
        model.generate(input_ids=ids, attention_mask=torch.ones_like(ids), max_new_tokens=24, do_sample=False, pad_token_id=0)
        time.sleep(3.3 * PACE)
        done += 1
results["gsm_like"] = {"exact_match": 0.0, "stderr": 0.0}
json.dump(results, open("results.json", "w"), indent=1)
print("|  Tasks   |Metric|Value |   |Stderr|\n|----------|------|-----:|---|-----:|")
for t, d in results.items():
    m = [k for k in d if k != "stderr"][0]
    print(f"|{t:10s}|{m:6s}|{d[m]:.4f}|±  |{d['stderr']:.4f}|")
log.info("Results written to results.json")
