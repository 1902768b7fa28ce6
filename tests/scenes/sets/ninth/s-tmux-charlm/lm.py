import argparse
import time

import torch
from torch import nn
from tqdm import tqdm

TEXT = """It was the best of times, it was the worst of times, it was the age of wisdom, it was the age of foolishness,
it was the epoch of belief, it was the epoch of incredulity, it was the season of light, it was the season of darkness,
it was the spring of hope, it was the winter of despair. """ * 6
CHARS = sorted(set(TEXT))
IDS = torch.tensor([CHARS.index(c) for c in TEXT])


class LM(nn.Module):
    def __init__(self, dim=64):
        super().__init__()
        self.emb = nn.Embedding(len(CHARS), dim)
        self.rnn = nn.GRU(dim, dim, batch_first=True)
        self.out = nn.Linear(dim, len(CHARS))

    def forward(self, x, h=None):
        y, h = self.rnn(self.emb(x), h)
        return self.out(y), h


@torch.no_grad()
def sample(model, start="it was ", n=80):
    out, h = start, None
    x = torch.tensor([[CHARS.index(c) for c in start]])
    for _ in range(n):
        logits, h = model(x, h)
        x = torch.multinomial(logits[:, -1].softmax(-1), 1)
        out += CHARS[x.item()]
    return out.replace("\n", " ")


p = argparse.ArgumentParser()
p.add_argument("--epochs", type=int)
a = p.parse_args()
torch.manual_seed(0)
model = LM()
opt = torch.optim.Adam(model.parameters(), lr=4e-3)
for epoch in range(a.epochs):
    bar = tqdm(range(30), desc=f"epoch {epoch + 1}/{a.epochs}", ncols=90)
    for _ in bar:
        at = torch.randint(0, len(IDS) - 49, (16,))
        rows = torch.stack([IDS[i : i + 49] for i in at])
        loss = nn.functional.cross_entropy(model(rows[:, :-1])[0].flatten(0, 1), rows[:, 1:].flatten())
        opt.zero_grad()
        loss.backward()
        opt.step()
        time.sleep(0.15)
        bar.set_postfix(loss=f"{loss.item():.3f}")
    print("  >", sample(model))
torch.save(model.state_dict(), "lm.pt")
print("saved lm.pt, bye")
