import time

import torch
from torch import nn

V, D = 14, 32


def now():
    return time.strftime("%b %d %H:%M:%S")


class Asr(nn.Module):
    def __init__(self):
        super().__init__()
        self.enc = nn.GRU(10, D, batch_first=True)
        self.out = nn.Linear(D, V)

    def forward(self, x):
        return self.out(self.enc(x)[0])


def speech(n, length, g):
    y = torch.randint(0, V, (n, length), generator=g)
    sound = torch.linspace(-1, 1, 10) * (y.unsqueeze(-1) - 6.5) / 3
    return sound.sin() + 0.5 * torch.randn(n, length, 10, generator=g), y


def beam(logp, width=6):
    """A bigram-penalised beam search, one utterance at a time, as slow as such things are."""
    paths = [((), 0.0)]
    for frame in logp.tolist():
        new = [(p + (k,), s + v - (0.3 if p and p[-1] == k else 0.0)) for p, s in paths for k, v in enumerate(frame)]
        paths = sorted(new, key=lambda q: -q[1])[:width]
    time.sleep(0.22)
    return paths[0][0]


def evaluate(net, name, n):
    print(f"{now()} evaluating {name}: {n} utterances, beam 6", flush=True)
    x, y = speech(n, 20, torch.Generator().manual_seed(99))
    t, wrong = time.time(), 0
    with torch.no_grad():
        for a, b in zip(x, y):
            wrong += sum(p != q for p, q in zip(beam(net(a[None])[0].log_softmax(-1)), b.tolist()))
    print(f"{now()} {name}: token error rate {wrong / y.numel():.2%} ({wrong} errors), {time.time() - t:.0f} s", flush=True)


torch.manual_seed(0)
net = Asr()
opt = torch.optim.Adam(net.parameters(), 3e-3)
g = torch.Generator().manual_seed(1)
for epoch in (1, 2):
    for it in range(1, 101):
        x, y = speech(16, 20, g)
        loss = nn.functional.cross_entropy(net(x).flatten(0, 1), y.flatten())
        opt.zero_grad()
        loss.backward()
        opt.step()
        time.sleep(0.18)
        if it % 10 == 0:
            print(f"{now()} epoch {epoch} it {it}/100 xent {loss.item():.4f}", flush=True)
    torch.save(net.state_dict(), f"asr.e{epoch}.pt")
    evaluate(net, "dev-other", 180)
print(f"{now()} done", flush=True)
