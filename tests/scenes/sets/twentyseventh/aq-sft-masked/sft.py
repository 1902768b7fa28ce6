"""Full fine-tuning on conversations, in the way of nanoGPT: one file, one conversation a micro step, 4 of them a step."""
import json
import math
import os
import time

import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(1337)
torch.set_num_threads(1)
block_size, vocab_size, n_embd, n_head, n_layer = 48, 160, 64, 4, 2
max_iters, warmup_iters, learning_rate, min_lr, grad_clip, accum = 520, 20, 2e-3, 2e-4, 1.0, 4


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.ln_1, self.ln_2 = nn.LayerNorm(n_embd), nn.LayerNorm(n_embd)
        self.attn, self.proj = nn.Linear(n_embd, 3 * n_embd), nn.Linear(n_embd, n_embd)
        self.mlp = nn.Sequential(nn.Linear(n_embd, 4 * n_embd), nn.GELU(), nn.Linear(4 * n_embd, n_embd))

    def forward(self, x):
        b, t, c = x.shape
        q, k, v = (z.view(b, t, n_head, -1).transpose(1, 2) for z in self.attn(self.ln_1(x)).split(c, 2))
        x = x + self.proj(F.scaled_dot_product_attention(q, k, v, is_causal=True).transpose(1, 2).reshape(b, t, c))
        return x + self.mlp(self.ln_2(x))


class GPT(nn.Module):
    def __init__(self):
        super().__init__()
        self.wte, self.wpe = nn.Embedding(vocab_size, n_embd), nn.Embedding(block_size, n_embd)
        self.h, self.ln_f = nn.Sequential(*[Block() for _ in range(n_layer)]), nn.LayerNorm(n_embd)
        self.lm_head = nn.Linear(n_embd, vocab_size, bias=False)

    def forward(self, idx, targets):
        x = self.ln_f(self.h(self.wte(idx) + self.wpe(torch.arange(idx.shape[1]))))
        each = F.cross_entropy(self.lm_head(x).flatten(0, 1), targets.flatten().clamp(min=0), reduction="none")
        mask = (targets.flatten() != -100).float()
        return (each * mask).sum() / mask.sum()  # the mean over the tokens of the answer


def get_lr(it):
    if it < warmup_iters:
        return learning_rate * (it + 1) / warmup_iters
    return min_lr + 0.5 * (1 + math.cos(math.pi * it / max_iters)) * (learning_rate - min_lr)


rows = [json.loads(line) for line in open("sft.jsonl")]
model = GPT()
optimizer = torch.optim.AdamW(model.parameters(), lr=learning_rate, betas=(0.9, 0.95))
print(f"number of parameters: {sum(p.numel() for p in model.parameters()) / 1e6:.2f}M, {len(rows)} conversations")
os.makedirs("out", exist_ok=True)
t0 = time.time()
for it in range(max_iters):
    for g in optimizer.param_groups:
        g["lr"] = get_lr(it)
    total = 0.0
    for k in range(accum):
        r = rows[(it * accum + k) % len(rows)]
        ids, labels = torch.tensor([r["ids"]]), torch.tensor([r["labels"]])
        loss = model(ids[:, :-1], labels[:, 1:]) / accum
        loss.backward()
        total += loss.item()
    norm = torch.nn.utils.clip_grad_norm_(model.parameters(), grad_clip)
    optimizer.step()
    optimizer.zero_grad(set_to_none=True)
    time.sleep(float(os.environ.get("PACE", 0.33)))
    dt, t0 = time.time() - t0, time.time()
    print(f"iter {it}: loss {total:.4f}, norm {norm:.3f}, lr {get_lr(it):.2e}, time {dt * 1000:.2f}ms", flush=True)
    if it and it % 100 == 0:
        torch.save({"model": model.state_dict(), "optimizer": optimizer.state_dict(), "iter_num": it}, "out/ckpt.pt")
        print(f"saving checkpoint to out (iter {it})", flush=True)
