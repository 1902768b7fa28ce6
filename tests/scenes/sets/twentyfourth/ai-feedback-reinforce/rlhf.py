"""REINFORCE from human preferences, by hand: a small policy writes replies, a fixed scorer (fitted to the
annotators' votes) rates them. Probabilities of the rollouts are kept in half precision to save memory."""
import json
import os
import sys
import time

import torch
import torch.nn as nn

torch.manual_seed(7)
torch.set_num_threads(1)
STEP_S = float(os.environ.get("STEP_S", "0.25"))
V, T, B, D = 48, 14, 24, 48


class Policy(nn.Module):
    def __init__(self):
        super().__init__()
        self.emb = nn.Embedding(V, D)
        self.cell = nn.GRUCell(D, D)
        self.out = nn.Linear(D, V)

    def rollout(self, prompt):
        h = torch.zeros(len(prompt), D)
        tok, probs, toks = prompt, [], []
        for _ in range(T):
            h = self.cell(self.emb(tok), h)
            p = self.out(h).softmax(-1)
            tok = torch.multinomial(p.detach(), 1).squeeze(1)
            probs.append(p.half())
            toks.append(tok)
        return torch.stack(probs, 1), torch.stack(toks, 1)


scores = torch.randn(V)                      # votes of the annotators per token
follows = torch.randn(V, V) * 0.4            # and per pair


def reward(toks):
    r = scores[toks].mean(1) + follows[toks[:, :-1], toks[:, 1:]].mean(1)
    return r


def main():
    policy = Policy()
    opt = torch.optim.Adam(policy.parameters(), lr=float(os.environ.get("LR", "3e-3")))
    base = 0.0
    os.makedirs("policy", exist_ok=True)
    log = open("rl.jsonl", "a", buffering=1)
    for it in range(1, 1201):
        prompt = torch.randint(0, V, (B,))
        probs, toks = policy.rollout(prompt)
        r = reward(toks)
        adv = (r - base).unsqueeze(1)
        base = 0.9 * base + 0.1 * r.mean().item()
        logp = probs.gather(2, toks.unsqueeze(2)).squeeze(2).log()
        ent = -(probs * probs.log()).sum(-1).mean()
        loss = -(adv * logp.float()).mean() - 0.002 * ent.float()
        opt.zero_grad()
        loss.backward()
        gn = nn.utils.clip_grad_norm_(policy.parameters(), 1.0)
        opt.step()
        time.sleep(STEP_S)
        log.write(json.dumps({"iter": it, "reward": r.mean().item(), "loss": loss.item(), "entropy": ent.item(), "grad": gn.item()}) + "\n")
        if it % 5 == 0 or not torch.isfinite(loss):
            print(f"iter {it:4d}/1200 | reward {r.mean():.3f} | loss {loss.item():.4f} | entropy {ent.item():.3f} | grad {gn.item():.2f}", flush=True)
        if it % 50 == 0:
            torch.save({"policy": policy.state_dict(), "opt": opt.state_dict(), "iter": it}, f"policy/iter{it}.pt")
            print(f"saved policy/iter{it}.pt", flush=True)


if __name__ == "__main__":
    sys.exit(main())
