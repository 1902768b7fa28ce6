import datetime
import time

import torch
import torch.distributed as dist
from torch import nn
from torch.nn import functional as F
from torch.nn.parallel import DistributedDataParallel as DDP

EPOCHS, STEPS = 2, 110


class Clap(nn.Module):
    def __init__(self, d=64):
        super().__init__()
        self.audio = nn.Sequential(nn.Conv1d(32, d, 5, 2), nn.ReLU(), nn.Conv1d(d, d, 5, 2), nn.ReLU())
        self.text = nn.EmbeddingBag(300, d)
        self.pa, self.pt = nn.Linear(d, d), nn.Linear(d, d)

    def embed_audio(self, a):
        return F.normalize(self.pa(self.audio(a).mean(-1)))

    def embed_text(self, t):
        return F.normalize(self.pt(self.text(t)))

    def forward(self, a, t):
        return self.embed_audio(a) @ self.embed_text(t).T / 0.1


def sample(n, g):
    k = torch.randint(0, 32, (n,), generator=g)
    audio = torch.randn(n, 32, 60, generator=g)
    audio[torch.arange(n), k] += 1.5
    words = torch.stack([k * 9 + i for i in range(4)], 1)
    return audio, words


@torch.no_grad()
def retrieval(model, g):
    audio, words = sample(64, g)
    text = model.embed_text(words)
    hits = 0
    until = time.time() + 25  # exhaustive rescoring with many crops
    crops, i = torch.zeros(64, 64), 0
    while time.time() < until:
        at = int(torch.randint(0, 20, (1,), generator=g))
        crops += model.embed_audio(audio[:, :, at : at + 40]) @ text.T
        i += 1
        time.sleep(0.01)
    hits = (words[crops.argmax(1), 0] == words[:, 0]).float().mean()
    return hits.item(), i


def main():
    dist.init_process_group("gloo", timeout=datetime.timedelta(minutes=10))
    rank = dist.get_rank()
    say = (lambda *a: print(time.strftime("%F %T"), *a, flush=True)) if rank == 0 else (lambda *a: None)
    torch.manual_seed(0)
    model = DDP(Clap())
    opt = torch.optim.AdamW(model.parameters(), lr=1e-3)
    g = torch.Generator().manual_seed(rank)
    for epoch in range(1, EPOCHS + 1):
        for i in range(1, STEPS + 1):
            a, t = sample(16, g)
            logits = model(a, t)
            y = torch.arange(16)
            loss = (F.cross_entropy(logits, y) + F.cross_entropy(logits.T, y)) / 2
            opt.zero_grad()
            loss.backward()
            opt.step()
            time.sleep(0.12)
            if i % 10 == 0:
                say(f"Epoch {epoch}/{EPOCHS} [{i}/{STEPS}] loss: {loss.item():.4f}")
        if rank == 0:
            torch.save(model.module.state_dict(), f"clap-epoch{epoch}.pt")
            say("Running retrieval on the dev set ...")
            r1, n = retrieval(model.module, g)
            say(f"Epoch {epoch} dev R@1 {r1:.3f} ({n} crops)")
        dist.barrier()
    say("Training complete.")
    dist.destroy_process_group()


main()
