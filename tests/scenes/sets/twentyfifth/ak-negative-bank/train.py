"""Sentence encoder with a bank of past negatives (momentum contrast). The bank fills up, then the oldest are overwritten."""
import time

import psutil
import torch
import torch.nn as nn
import torch.nn.functional as F

DIM, BATCH, BLOCKS, STEPS, VOCAB = 64, 64, 150, 310, 600
torch.manual_seed(0)
torch.set_num_threads(1)


class Enc(nn.Module):
    def __init__(self):
        super().__init__()
        self.emb, self.out = nn.EmbeddingBag(VOCAB, 96), nn.Linear(96, DIM)

    def forward(self, x):
        return F.normalize(self.out(F.gelu(self.emb(x))), dim=-1)


def noisy(x, gen):
    return torch.where(torch.rand(x.shape, generator=gen) < 0.3,
                       torch.randint(0, VOCAB, x.shape, generator=gen), x)


gen = torch.Generator().manual_seed(3)
q_enc, k_enc = Enc(), Enc()
k_enc.load_state_dict(q_enc.state_dict())
opt = torch.optim.AdamW(q_enc.parameters(), lr=8e-4)
keys = torch.empty(BLOCKS, BATCH, DIM)                                  # ring of past keys
texts = torch.empty(BLOCKS, BATCH * 320, 16, dtype=torch.long)          # their augmented raw texts, for re-encoding
proc = psutil.Process()
for step in range(1, STEPS + 1):
    base = torch.randint(0, VOCAB, (BATCH, 16), generator=gen)
    q = q_enc(noisy(base, gen))
    with torch.no_grad():
        k = k_enc(noisy(base, gen))
    full = min(step - 1, BLOCKS)
    neg = keys[:full].flatten(0, 1)
    # a sample of the bank as negatives
    if len(neg) > 512:
        neg = neg[torch.randperm(len(neg), generator=gen)[:512]]
    sim = torch.cat([q @ k.T, q @ neg.T], 1) * 12
    loss = F.cross_entropy(sim, torch.arange(BATCH))
    opt.zero_grad()
    loss.backward()
    opt.step()
    with torch.no_grad():
        for a, b in zip(k_enc.parameters(), q_enc.parameters()):
            a.lerp_(b, 0.05)
    at = (step - 1) % BLOCKS
    keys[at] = k
    for part in range(0, BATCH * 320, 2048):
        texts[at, part:part + 2048] = noisy(base.repeat(32, 1), gen)
    time.sleep(0.32)
    if step % 10 == 0:
        top = (sim.argmax(1) == torch.arange(BATCH)).float().mean().item()
        print(f"{time.strftime('%H:%M:%S')} step={step} loss={loss.item():.4f} top1={top:.3f} "
              f"bank={min(step, BLOCKS)}/{BLOCKS} rss={proc.memory_info().rss / 2**20:.0f}MB", flush=True)
    if step % 60 == 0:
        torch.save({"q": q_enc.state_dict(), "k": k_enc.state_dict(), "step": step}, "moco.pt")
print("finished", flush=True)
