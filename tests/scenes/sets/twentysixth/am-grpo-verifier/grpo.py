"""GRPO on sums of three digits (mod 10). A short SFT on worked answers first, then RL against a verifier.
The evaluation is strict: the last number of the answer has to be the sum."""
import copy
import csv
import os
import time

import torch
import torch.nn as nn

from verifiers import VERIFIERS

torch.manual_seed(1)
torch.set_num_threads(1)
EOS, PLUS, VOC, MAXLEN = 10, 11, 12, 14
G, P, BETA, ENT, LR, SFT = 8, 12, 0.002, 0.01, 2e-3, 160
PLAN = [("plain", 120), ("wordsum", 420)]


class Policy(nn.Module):
    def __init__(self, d=64, h=128):
        super().__init__()
        self.emb, self.rnn, self.out = nn.Embedding(VOC, d), nn.GRU(d, h, batch_first=True), nn.Linear(h, VOC)

    def forward(self, x, h=None):
        o, h = self.rnn(self.emb(x), h)
        return self.out(o), h


def prompts(n):
    d = torch.randint(0, 10, (n, 3))
    plus = torch.full((n, 1), PLUS)
    return torch.cat([d[:, :1], plus, d[:, 1:2], plus, d[:, 2:]], 1), d


def demos(n):
    """Worked answers: sum of the first two, then of all; some writers repeat or correct themselves."""
    x, d = prompts(n)
    s2, s3 = d[:, :2].sum(1) % 10, d.sum(1) % 10
    y = torch.full((n, 4), EOS)
    y[:, 0], y[:, 1] = s2, s3
    again = torch.rand(n) < 0.1
    y[again, 1] = torch.randint(0, 10, (int(again.sum()),))
    y[again, 2] = s3[again]
    return x, y


@torch.no_grad()
def sample(net, x, greedy=False):
    lg, h = net(x)
    out, done = [], torch.zeros(len(x), dtype=torch.bool)
    for _ in range(MAXLEN):
        p = lg[:, -1].softmax(-1)
        t = p.argmax(-1) if greedy else torch.multinomial(p, 1).squeeze(1)
        t = torch.where(done, torch.full_like(t, EOS), t)
        out.append(t)
        done |= t == EOS
        lg, h = net(t[:, None], h)
    return torch.stack(out, 1)


def text(row):
    s = []
    for t in row.tolist():
        if t == EOS:
            break
        s.append("+" if t == PLUS else str(t))
    return " ".join(s)


def logps(net, x, y):
    lg, _ = net(torch.cat([x, y[:, :-1]], 1))
    lp = lg[:, x.size(1) - 1:].log_softmax(-1)
    ent = -(lp.exp() * lp).sum(-1)
    return lp.gather(-1, y[..., None]).squeeze(-1), ent


def until_eos(y):
    e = (y == EOS).float()
    return (e.cumsum(1) - e == 0).float()


def evaluate(net, n=200):
    x, d = prompts(n)
    out = sample(net, x, greedy=True)
    return sum(VERIFIERS["plain"](text(o), str(a)) for o, a in zip(out, (d.sum(1) % 10).tolist())) / n


net = Policy()
opt = torch.optim.Adam(net.parameters(), lr=4e-3)
for i in range(1, SFT + 1):
    x, y = demos(64)
    lp, _ = logps(net, x, y)
    m = until_eos(y)
    loss = -(lp * m).sum() / m.sum()
    opt.zero_grad()
    loss.backward()
    opt.step()
    time.sleep(0.06)
    if i % 20 == 0:
        print(f"sft {i}/{SFT} loss {loss.item():.4f}", flush=True)
print(f"sft done, eval_acc {evaluate(net):.3f}", flush=True)
ref = copy.deepcopy(net).requires_grad_(False)
opt = torch.optim.Adam(net.parameters(), lr=LR)
os.makedirs("ckpt", exist_ok=True)
f = open("grpo.csv", "w", buffering=1)
w = csv.writer(f)
w.writerow("step,env,reward,reward_std,completion_len,kl,entropy,loss,eval_acc".split(","))
step = 0
for env, n in PLAN:
    for _ in range(n):
        step += 1
        x, d = prompts(P)
        x, a = x.repeat_interleave(G, 0), (d.sum(1) % 10).repeat_interleave(G, 0)
        y = sample(net, x)
        r = torch.tensor([VERIFIERS[env](text(o), str(t.item())) for o, t in zip(y, a)])
        grp = r.view(P, G)
        adv = ((grp - grp.mean(1, keepdim=True)) / (grp.std(1, keepdim=True) + 1e-4)).view(-1, 1)
        mask = until_eos(y)
        lp, ent = logps(net, x, y)
        with torch.no_grad():
            rlp, _ = logps(ref, x, y)
        dlt = rlp - lp
        kl = dlt.exp() - dlt - 1
        loss = ((-adv * lp + BETA * kl - ENT * ent) * mask).sum() / mask.sum()
        opt.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(net.parameters(), 1.0)
        opt.step()
        time.sleep(0.22)
        ev = f"{evaluate(net):.3f}" if step % 10 == 0 else ""
        w.writerow([step, env, f"{r.mean():.3f}", f"{grp.std(1).mean():.3f}", f"{mask.sum(1).mean():.2f}",
                    f"{(kl * mask).sum(1).mean():.3f}", f"{(ent * mask).sum() / mask.sum():.3f}", f"{loss.item():.4f}", ev])
        if step % 10 == 0:
            print(f"step {step:4d} env={env} reward={r.mean():.3f} len={mask.sum(1).mean():.1f} "
                  f"eval_acc={ev} sample='{text(x[0])} = {text(y[0])}'", flush=True)
        if step % 40 == 0:
            torch.save(net.state_dict(), f"ckpt/policy_{step}.pt")
            print(f"saved ckpt/policy_{step}.pt", flush=True)
