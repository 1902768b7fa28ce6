"""Masked-frame pretraining of a small speech encoder (log-mel in, log-mel out)."""
import argparse, random, time
import torch
import torch.nn as nn

SUB = 4          # the front-end keeps one frame in four


def make_corpus(n=320, seed=3):
    g = random.Random(seed)
    lens = [g.randint(24, 96) for _ in range(n)]
    for i in g.sample(range(n), 9):          # coughs, clicks, "mm" ...
        lens[i] = g.randint(2, 3)
    gen = torch.Generator().manual_seed(seed)
    return [torch.randn(l, 40, generator=gen).cumsum(0) * 0.1 for l in lens]


class Encoder(nn.Module):
    def __init__(self):
        super().__init__()
        self.rnn = nn.GRU(40, 96, batch_first=True)
        self.out = nn.Linear(96, 40)

    def forward(self, x):
        return self.out(self.rnn(x)[0])


def collate(batch):
    short = [u[: (len(u) // SUB) * SUB].view(-1, SUB, 40).mean(1) for u in batch]
    lens = torch.tensor([len(s) for s in short])
    x = torch.zeros(len(short), int(lens.max()), 40)
    for i, s in enumerate(short):
        x[i, : len(s)] = s
    mask = (torch.arange(x.shape[1])[None] < lens[:, None]).float()
    return x, mask


def main():
    p = argparse.ArgumentParser()
    p.add_argument("--epochs", type=int, default=7)
    p.add_argument("--curriculum", type=int, default=2, help="epochs with clean, long clips only")
    a = p.parse_args()
    torch.manual_seed(0)
    torch.set_num_threads(1)
    corpus = make_corpus()
    model = Encoder()
    opt = torch.optim.AdamW(model.parameters(), lr=2e-3)
    rng = random.Random(11)
    print(f"{len(corpus)} utterances, {sum(p.numel() for p in model.parameters()):,} parameters", flush=True)
    update = 0
    for epoch in range(1, a.epochs + 1):
        floor = 16 if epoch <= a.curriculum else 0
        pool = [u for u in corpus if len(u) >= floor]
        rng.shuffle(pool)
        print(f"epoch {epoch}: {len(pool)} clips (min length {floor} frames)", flush=True)
        t0 = time.time()
        for i in range(0, len(pool), 8):
            x, mask = collate(pool[i:i + 8])
            noisy = x * (torch.rand_like(x[..., :1]) > 0.2)
            err = (model(noisy) - x).abs().mean(-1)
            per_clip = (err * mask).sum(1) / mask.sum(1)
            loss = per_clip.mean()
            opt.zero_grad()
            loss.backward()
            nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            opt.step()
            update += 1
            time.sleep(0.4)
            if update % 4 == 0:
                print(f"epoch {epoch} | update {update} | loss {loss.item():.4f} | lr 2.0e-03", flush=True)
        torch.save(model.state_dict(), f"encoder_e{epoch}.pt")
        print(f"epoch {epoch} took {time.time() - t0:.1f} s, saved encoder_e{epoch}.pt", flush=True)


main()
