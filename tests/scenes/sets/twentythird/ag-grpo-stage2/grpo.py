"""GRPO on a toy task: answer the prompt digit with an ascending run that starts there."""
import json
import os
import time

import torch
import torch.nn as nn
import torch.nn.functional as F
import yaml

torch.manual_seed(3)
V, T, GROUP, PROMPTS = 12, 6, 8, 8
os.makedirs("ckpt", exist_ok=True)


class Policy(nn.Module):
    def __init__(self, d=48):
        super().__init__()
        self.emb = nn.Embedding(V, d)
        self.rnn = nn.GRU(d, d, batch_first=True)
        self.head = nn.Linear(d, V)

    def forward(self, x):
        return self.head(self.rnn(self.emb(x))[0])


def generate(policy, prompt):
    seq = prompt[:, None]
    with torch.no_grad():
        for _ in range(T):
            p = F.softmax(policy(seq)[:, -1], -1)
            seq = torch.cat([seq, torch.multinomial(p, 1)], 1)
    return seq


def reward(seq):
    want = (seq[:, :1] + torch.arange(1, T + 1)) % 10
    return (seq[:, 1:] == want).float().mean(1)


def logp(policy, seq):
    lp = F.log_softmax(policy(seq[:, :-1]), -1)
    return lp.gather(-1, seq[:, 1:, None]).squeeze(-1), -(lp.exp() * lp).sum(-1).mean()


policy, ref = Policy(), Policy()
# short SFT so that the policy starts from something sensible
opt = torch.optim.Adam(policy.parameters(), 3e-3)
for _ in range(25):
    s = torch.randint(0, 10, (32, 1))
    full = torch.cat([s, (s + torch.arange(1, T + 1)) % 10], 1)
    loss = F.cross_entropy(policy(full[:, :-1]).flatten(0, 1), full[:, 1:].flatten())
    opt.zero_grad()
    loss.backward()
    opt.step()
ref.load_state_dict(policy.state_dict())

step = 0
with open("stages.yaml") as f:
    stages = yaml.safe_load(f)["stages"]
total = sum(s["steps"] for s in stages)
out = open("metrics.jsonl", "a", buffering=1)
for stage in stages:
    print(f"=== stage {stage['name']}: {stage['steps']} steps, lr {stage['lr']}, kl_beta {stage['kl_beta']}", flush=True)
    opt = torch.optim.Adam(policy.parameters(), stage["lr"])
    for _ in range(stage["steps"]):
        step += 1
        t0 = time.time()
        prompt = torch.randint(0, 10, (PROMPTS,)).repeat_interleave(GROUP)
        seq = generate(policy, prompt)
        r = reward(seq)
        g = r.view(PROMPTS, GROUP)
        adv = ((g - g.mean(1, keepdim=True)) / (g.std(1, keepdim=True) + 1e-4)).flatten()
        lp, ent = logp(policy, seq)
        with torch.no_grad():
            lref, _ = logp(ref, seq)
        kl = (torch.exp(lref - lp) - (lref - lp) - 1).mean()
        loss = -(adv[:, None] * lp).mean() + stage["kl_beta"] * kl
        opt.zero_grad()
        loss.backward()
        gn = nn.utils.clip_grad_norm_(policy.parameters(), 1.0)
        opt.step()
        row = dict(step=step, loss=round(loss.item(), 4), reward=round(r.mean().item(), 4),
                   reward_std=round(g.std(1).mean().item(), 4), entropy=round(ent.item(), 4),
                   kl=round(kl.item(), 4), grad_norm=round(gn.item(), 4), lr=stage["lr"])
        out.write(json.dumps(row) + "\n")
        if step % 5 == 0:
            print(f"step {step}/{total} reward {row['reward']:.3f} reward_std {row['reward_std']:.3f} "
                  f"entropy {row['entropy']:.3f} kl {row['kl']:.3f} loss {row['loss']:.4f}", flush=True)
        if step % 50 == 0:
            torch.save(policy.state_dict(), f"ckpt/policy-{step}.pt")
            print(f"saved ckpt/policy-{step}.pt", flush=True)
        time.sleep(max(0.0, 0.33 - (time.time() - t0)))
print("done", flush=True)
