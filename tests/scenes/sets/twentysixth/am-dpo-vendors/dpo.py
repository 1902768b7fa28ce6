import copy
import json
import os
import time

import torch
import torch.nn.functional as F
from safetensors.torch import save_file
from transformers import GPT2Config, GPT2LMHeadModel

torch.manual_seed(3)
torch.set_num_threads(1)
BETA, BS, LR = 0.1, 16, 4e-4

rows = [json.loads(l) for l in open("pairs.jsonl")]
held = [json.loads(l) for l in open("heldout.jsonl")]
policy = GPT2LMHeadModel(GPT2Config(vocab_size=60, n_positions=16, n_embd=64, n_layer=2, n_head=4,
                                    resid_pdrop=0, embd_pdrop=0, attn_pdrop=0, bos_token_id=0, eos_token_id=0))
ref = copy.deepcopy(policy).eval().requires_grad_(False)
opt = torch.optim.AdamW(policy.parameters(), lr=LR, weight_decay=0.0)


def logp(model, prompts, answers):
    x = torch.tensor([p + a for p, a in zip(prompts, answers)])
    lp = model(x).logits[:, :-1].log_softmax(-1).gather(-1, x[:, 1:, None]).squeeze(-1)
    return lp[:, len(prompts[0]) - 1:].sum(-1)


def rewards(batch):
    p = [r["prompt"] for r in batch]
    c, j = [r["chosen"] for r in batch], [r["rejected"] for r in batch]
    with torch.no_grad():
        rc, rj = logp(ref, p, c), logp(ref, p, j)
    return BETA * (logp(policy, p, c) - rc), BETA * (logp(policy, p, j) - rj)


os.makedirs("out", exist_ok=True)
mf = open("metrics.jsonl", "a", buffering=1)
t0 = time.time()
for step in range(1, len(rows) // BS + 1):
    batch = rows[(step - 1) * BS: step * BS]
    for g in opt.param_groups:
        g["lr"] = LR * min(1.0, step / 30)
    c, j = rewards(batch)
    loss = -F.logsigmoid(c - j).mean()
    opt.zero_grad()
    loss.backward()
    gn = torch.nn.utils.clip_grad_norm_(policy.parameters(), 1.0)
    opt.step()
    time.sleep(0.2)
    if step % 5 == 0:
        mf.write(json.dumps({"step": step, "shard": batch[0]["src"], "loss": round(loss.item(), 4),
                             "grad_norm": round(gn.item(), 3),
                             "rewards/chosen": round(c.mean().item(), 4),
                             "rewards/rejected": round(j.mean().item(), 4),
                             "rewards/margins": round((c - j).mean().item(), 4),
                             "rewards/accuracies": round((c > j).float().mean().item(), 4),
                             "elapsed": round(time.time() - t0, 1)}) + "\n")
    if step % 50 == 0:
        with torch.no_grad():
            hc, hj = rewards(held)
        mf.write(json.dumps({"step": step, "eval/rewards/accuracies": round((hc > hj).float().mean().item(), 4),
                             "eval/rewards/margins": round((hc - hj).mean().item(), 4)}) + "\n")
        save_file({k: v.contiguous().clone() for k, v in policy.state_dict().items()}, f"out/policy-{step}.safetensors")
        print(f"{time.strftime('%H:%M:%S')} saved out/policy-{step}.safetensors", flush=True)
print("done", flush=True)
