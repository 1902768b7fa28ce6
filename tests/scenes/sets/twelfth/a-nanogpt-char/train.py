import math, time
import torch
import torch.nn as nn
import torch.nn.functional as F
from tqdm import trange

torch.manual_seed(1337)
torch.set_num_threads(1)
block, batch, steps, eval_every = 64, 8, 240, 60
play = ["ROMEO: what light is this that breaks?", "NURSE: i am aweary, give me leave awhile.", "JULIET: good night, good night!",
        "FRIAR: wisely and slow; they stumble that run fast.", "MERCUTIO: a plague on both your houses."]
g = torch.Generator().manual_seed(2)
text = "\n".join(play[i] for i in torch.randint(0, 5, (1500,), generator=g).tolist())
chars = sorted(set(text))
data = torch.tensor([chars.index(c) for c in text])
train, val = data[: int(0.9 * len(data))], data[int(0.9 * len(data)):]


class Head(nn.Module):
    def __init__(self, d, h):
        super().__init__()
        self.h, self.qkv, self.proj = h, nn.Linear(d, 3 * d), nn.Linear(d, d)

    def forward(self, x):
        b, t, d = x.shape
        q, k, v = [z.view(b, t, self.h, -1).transpose(1, 2) for z in self.qkv(x).split(d, 2)]
        return self.proj(F.scaled_dot_product_attention(q, k, v, is_causal=True).transpose(1, 2).reshape(b, t, d))


class NanoGPT(nn.Module):
    def __init__(self, d=64):
        super().__init__()
        self.wte, self.wpe = nn.Embedding(len(chars), d), nn.Embedding(block, d)
        self.att = nn.ModuleList(Head(d, 4) for _ in range(2))
        self.mlp = nn.ModuleList(nn.Sequential(nn.LayerNorm(d), nn.Linear(d, 4 * d), nn.GELU(), nn.Linear(4 * d, d)) for _ in range(2))
        self.ln, self.head = nn.LayerNorm(d), nn.Linear(d, len(chars))

    def forward(self, i):
        x = self.wte(i) + self.wpe.weight[: i.shape[1]]
        for a, m in zip(self.att, self.mlp):
            x = x + a(self.ln(x))
            x = x + m(x)
        return self.head(x)


def get(src):
    i = torch.randint(len(src) - block - 1, (batch,))
    x = torch.stack([src[j:j + block + 1] for j in i])
    return x[:, :-1], x[:, 1:]


model = NanoGPT()
opt = torch.optim.AdamW(model.parameters(), lr=1e-3)
bar = trange(steps, desc="train", mininterval=0.5)
for it in bar:
    for grp in opt.param_groups:
        grp["lr"] = 1e-3 * min(1, (it + 1) / 20) * (0.1 + 0.45 * (1 + math.cos(math.pi * it / steps)))
    x, y = get(train)
    loss = F.cross_entropy(model(x).flatten(0, 1), y.flatten())
    opt.zero_grad(set_to_none=True)
    loss.backward()
    nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    opt.step()
    time.sleep(0.15)
    bar.set_postfix(loss=f"{loss.item():.3f}")
    if (it + 1) % eval_every == 0:
        with torch.no_grad():
            v = sum(F.cross_entropy(model(a).flatten(0, 1), b.flatten()).item() for a, b in (get(val) for _ in range(10))) / 10
        bar.write(f"iter {it + 1}: train loss {loss.item():.4f}, val loss {v:.4f}")
        torch.save(model.state_dict(), "ckpt.pt")
idx = torch.zeros(1, 1, dtype=torch.long)
for _ in range(60):
    p = F.softmax(model(idx[:, -block:])[:, -1], -1)
    idx = torch.cat([idx, torch.multinomial(p, 1)], 1)
print("sample:", "".join(chars[i] for i in idx[0].tolist()).replace("\n", " / "))
