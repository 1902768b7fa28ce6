"""Group-relative policy optimisation of a tiny generator; the reward is for sentences with up to four pairs of closed brackets."""
import json
import os
import time

import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)
# 0 pad, 1 eos, 2 '(', 3 ')', 4.. words
V, T, GROUPS, K, KL_COEF = 10, 14, 4, 16, 0.02


class Policy(nn.Module):
    def __init__(self, d=48):
        super().__init__()
        self.e = nn.Embedding(V, d)
        self.r = nn.GRU(d, d, batch_first=True)
        self.o = nn.Linear(d, V)

    def forward(self, x):
        return self.o(self.r(self.e(x))[0])


def reward(seq):
    depth, score, pairs = 0, 0.0, 0
    for t in seq:
        if t == 1:
            score += (0.5 if pairs else -0.8) if depth == 0 else -0.5
            break
        depth += (t == 2) - (t == 3)
        if depth < 0:
            return score - 0.8
        if t == 3 and pairs < 4:
            pairs += 1
            score += 0.5
    else:
        score -= 1.0
    return score


pi, ref = Policy(), Policy()
ref.load_state_dict(pi.state_dict())
opt = torch.optim.Adam(pi.parameters(), lr=1.5e-3)
os.makedirs("policy", exist_ok=True)
for it in range(1, 281):
    prompts = torch.randint(4, V, (GROUPS, 1)).repeat_interleave(K, 0)
    x = prompts
    with torch.no_grad():
        for _ in range(T):
            x = torch.cat([x, torch.multinomial(pi(x)[:, -1].softmax(-1), 1)], 1)
    out = x[:, 1:]
    mask = ((out == 1).cumsum(1) - (out == 1).int() == 0).float()
    r = torch.tensor([reward(s) for s in out.tolist()]).view(GROUPS, K)
    adv = ((r - r.mean(1, keepdim=True)) / (r.std(1, keepdim=True) + 1e-4)).view(-1, 1)
    lp = pi(x[:, :-1]).log_softmax(-1).gather(-1, out[..., None]).squeeze(-1)
    with torch.no_grad():
        lr_ = ref(x[:, :-1]).log_softmax(-1).gather(-1, out[..., None]).squeeze(-1)
    kl = (lr_ - lp).exp() - (lr_ - lp) - 1
    ratio = (lp - lp.detach()).exp()
    loss = ((-ratio * adv + KL_COEF * kl) * mask).sum() / mask.sum()
    opt.zero_grad()
    loss.backward()
    gn = nn.utils.clip_grad_norm_(pi.parameters(), 1.0)
    opt.step()
    time.sleep(0.32)
    if it % 4 == 0:
        print(json.dumps({"iteration": it, "loss": round(loss.item(), 5), "reward_mean": round(r.mean().item(), 3), "reward_std": round(r.std().item(), 3),
                          "kl": round((kl * mask).sum().item() / mask.sum().item(), 4), "grad_norm": round(float(gn), 3),
                          "completion_length": round(mask.sum(1).mean().item(), 2), "clipped_ratio": 0.0}), flush=True)
    if it % 70 == 0:
        torch.save(pi.state_dict(), f"policy/{it:04d}.pt")
        print(json.dumps({"event": "policy saved", "path": f"policy/{it:04d}.pt"}), flush=True)
print(json.dumps({"event": "finished"}))
