"""GRPO on a toy: answers are rewarded for even digits and commas."""
import os
import time

import torch
import torch.nn as nn
import torch.nn.functional as F

PACE = float(os.environ.get("PACE", 0.75))
torch.set_num_threads(1)
torch.manual_seed(13)
ALPHABET = "0123456789, abcdefgh."
N, LEN, GROUP, PROMPTS, STEPS = len(ALPHABET), 16, 8, 3, 180


class Policy(nn.Module):
    def __init__(self, d=96):
        super().__init__()
        self.emb, self.prompt, self.rnn, self.out = nn.Embedding(N + 1, d), nn.Embedding(10, d), nn.GRU(d, d, batch_first=True), nn.Linear(d, N)

    def forward(self, prompt, ids):
        h, _ = self.rnn(self.emb(ids), self.prompt(prompt)[None])
        return self.out(h)

    @torch.no_grad()
    def sample(self, prompt):
        ids = torch.full((len(prompt), 1), N)
        for _ in range(LEN):
            p = F.softmax(self(prompt, ids)[:, -1], -1)
            ids = torch.cat([ids, torch.multinomial(p, 1)], 1)
        return ids


def reward(text):
    return sum(c in "02468," for c in text) / len(text)


def logp(m, prompt, ids):
    return F.log_softmax(m(prompt, ids[:, :-1]), -1).gather(2, ids[:, 1:, None]).squeeze(2)


policy, ref = Policy(), Policy()
ref.load_state_dict(policy.state_dict())
opt = torch.optim.AdamW(policy.parameters(), lr=3e-4)
print(f"GRPO: {PROMPTS} prompts x {GROUP} completions, {STEPS} steps", flush=True)
for step in range(1, STEPS + 1):
    t = time.time()
    prompt = torch.randint(0, 10, (PROMPTS,)).repeat_interleave(GROUP)
    ids = policy.sample(prompt)
    texts = ["".join(ALPHABET[i] for i in row[1:]) for row in ids]
    r = torch.tensor([reward(x) for x in texts])
    g = r.view(PROMPTS, GROUP)
    adv = ((g - g.mean(1, keepdim=True)) / (g.std(1, keepdim=True) + 1e-4)).flatten()
    lp = logp(policy, prompt, ids)
    with torch.no_grad():
        lr_ = logp(ref, prompt, ids)
    kl = (torch.exp(lr_ - lp) - (lr_ - lp) - 1)
    loss = (-(torch.exp(lp - lp.detach()) * adv[:, None]) + 0.002 * kl).mean()
    opt.zero_grad()
    loss.backward()
    norm = nn.utils.clip_grad_norm_(policy.parameters(), 1.0)
    opt.step()
    time.sleep(PACE)
    print({"loss": round(loss.item(), 4), "grad_norm": round(norm.item(), 4), "reward": round(r.mean().item(), 4), "reward_std": round(g.std(1).mean().item(), 4),
           "kl": round(kl.mean().item(), 4), "completions/mean_length": float(LEN), "entropy": round(-lp.mean().item(), 3), "step": step, "step_time": round(time.time() - t, 2)}, flush=True)
    if step % 45 == 0:
        torch.save(policy.state_dict(), f"policy_{step}.pt")
        print(f"saved policy_{step}.pt; a completion: {texts[0]!r}", flush=True)
print("done", flush=True)
