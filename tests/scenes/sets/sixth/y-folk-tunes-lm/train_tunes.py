"""Character model of folk tunes in ABC notation. Plain loop with a progress bar."""
import argparse
import os
import time

import torch
import torch.nn as nn
from tqdm import tqdm

torch.set_num_threads(1)
NOTES = "ABCDEFGabcdefg|:23z "


def tunes(n=60000, seed=6):
    g = torch.Generator().manual_seed(seed)
    theme = torch.randint(0, len(NOTES), (16,), generator=g)
    text = theme.repeat(n // 16)
    noise = torch.rand(len(text), generator=g) < 0.15
    return torch.where(noise, torch.randint(0, len(NOTES), text.shape, generator=g), text)


class Tune(nn.Module):
    def __init__(self, dim=64):
        super().__init__()
        self.emb = nn.Embedding(len(NOTES), dim)
        self.rnn = nn.LSTM(dim, dim, batch_first=True)
        self.out = nn.Linear(dim, len(NOTES))

    def forward(self, x):
        return self.out(self.rnn(self.emb(x))[0])


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--epochs", type=int, default=20)
    ap.add_argument("--steps", type=int, default=50)
    ap.add_argument("--out", default="weights")
    a = ap.parse_args()
    torch.manual_seed(2)
    os.makedirs(a.out, exist_ok=True)
    data, model = tunes(), Tune()
    opt = torch.optim.AdamW(model.parameters(), lr=2e-3)
    for epoch in range(a.epochs):
        bar = tqdm(range(a.steps), desc=f"epoch {epoch}", mininterval=1.0, ncols=90)
        for _ in bar:
            i = torch.randint(0, len(data) - 65, (16,))
            x = torch.stack([data[k:k + 65] for k in i])
            loss = nn.functional.cross_entropy(model(x[:, :-1]).flatten(0, 1), x[:, 1:].flatten())
            opt.zero_grad()
            loss.backward()
            opt.step()
            time.sleep(0.17)
            bar.set_postfix(loss=f"{loss.item():.3f}")
        torch.save(model.state_dict(), f"{a.out}/tunes_{epoch:02d}.pt")
        tqdm.write(f"epoch {epoch} saved, loss {loss.item():.4f}")


if __name__ == "__main__":
    main()
