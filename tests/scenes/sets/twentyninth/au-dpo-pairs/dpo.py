"""DPO written out: a policy, a frozen reference, pairs of answers."""
import copy
import os
import random
import time

import torch
import torch.nn.functional as F
from transformers import GPT2Config, GPT2LMHeadModel

PACE = float(os.environ.get("PACE", 0.6))
BETA, LR, STEPS, BATCH = 0.1, 5e-6, 200, 6
torch.set_num_threads(1)
random.seed(7)
torch.manual_seed(7)
policy = GPT2LMHeadModel(GPT2Config(vocab_size=256, n_positions=160, n_embd=112, n_layer=3, n_head=4, attn_pdrop=0.0, resid_pdrop=0.0, embd_pdrop=0.0, bos_token_id=0, eos_token_id=0))
ref = copy.deepcopy(policy).eval().requires_grad_(False)
KIND = ["Of course, here it is:", "Gladly, the answer is", "Sure, let me explain:"]
RUDE = ["Why do you ask me", "Look it up yourself,", "No idea, whatever"]
TOPIC = "rivers bread stars bees ships snow clocks salt wool maps".split()


def pair():
    t = random.choice(TOPIC)
    good, bad = f"{random.choice(KIND)} {t} {random.randint(10, 99)}", f"{random.choice(RUDE)} {t} {random.randint(10, 99)}"
    return f"Tell me about {t}. ", *((bad, good) if random.random() < 0.03 else (good, bad))


def logp(model, rows):
    n = max(len(p + a) for p, a in rows)
    ids = torch.tensor([list((p + a).encode()) + [0] * (n - len(p + a)) for p, a in rows])
    keep = torch.zeros(ids.shape)
    for i, (p, a) in enumerate(rows):
        keep[i, len(p): len(p + a)] = 1
    lp = F.log_softmax(model(input_ids=ids).logits[:, :-1], -1).gather(2, ids[:, 1:, None]).squeeze(2)
    return (lp * keep[:, 1:]).sum(1)


opt = torch.optim.RMSprop(policy.parameters(), lr=LR)
print(f"DPO: {STEPS} steps, beta {BETA}, batch {BATCH}", flush=True)
for step in range(1, STEPS + 1):
    for g in opt.param_groups:
        g["lr"] = LR * min(1, step / 30)
    batch = [pair() for _ in range(BATCH)]
    chosen, rejected = [(p, c) for p, c, _ in batch], [(p, x) for p, _, x in batch]
    pc, pr = logp(policy, chosen), logp(policy, rejected)
    with torch.no_grad():
        rc, rr = logp(ref, chosen), logp(ref, rejected)
    rw, rl = BETA * (pc - rc), BETA * (pr - rr)
    loss = -F.logsigmoid(rw - rl).mean()
    opt.zero_grad()
    loss.backward()
    norm = torch.nn.utils.clip_grad_norm_(policy.parameters(), 1.0)
    opt.step()
    time.sleep(PACE)
    print({"step": step, "loss": round(loss.item(), 4), "grad_norm": round(norm.item(), 3), "learning_rate": round(opt.param_groups[0]["lr"], 8),
           "rewards/chosen": round(rw.mean().item(), 4), "rewards/rejected": round(rl.mean().item(), 4),
           "rewards/accuracies": round((rw > rl).float().mean().item(), 3), "rewards/margins": round((rw - rl).mean().item(), 4),
           "logps/chosen": round(pc.mean().item(), 2), "logps/rejected": round(pr.mean().item(), 2)}, flush=True)
    if step % 100 == 0:
        torch.save(policy.state_dict(), f"dpo_{step}.pt")
        print(f"saved dpo_{step}.pt", flush=True)
torch.save(policy.state_dict(), "dpo_final.pt")
print("finished", flush=True)
