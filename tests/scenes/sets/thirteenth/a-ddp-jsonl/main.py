import json, os, time
import torch
import torch.distributed as dist
import torch.nn as nn
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, DistributedSampler, TensorDataset

dist.init_process_group("gloo")
rank, world = dist.get_rank(), dist.get_world_size()
torch.manual_seed(10)
torch.set_num_threads(1)
out = open("metrics.jsonl", "a", buffering=1) if rank == 0 else None


def emit(**kw):
    if rank == 0:
        line = json.dumps({"ts": round(time.time(), 2), **kw})
        out.write(line + "\n")
        print(line, flush=True)


class Tagger(nn.Module):
    def __init__(self):
        super().__init__()
        self.emb = nn.Embedding(300, 48)
        self.rnn = nn.LSTM(48, 48, bidirectional=True, batch_first=True)
        self.head = nn.Linear(96, 12)

    def forward(self, x):
        return self.head(self.rnn(self.emb(x))[0])


g = torch.Generator().manual_seed(0)
words = torch.randint(0, 300, (1501, 20), generator=g)
tags = (words + torch.roll(words, 1, 1) // 150) % 12
train = TensorDataset(words[:1301], tags[:1301])
sampler = DistributedSampler(train, shuffle=True)
loader = DataLoader(train, batch_size=8, sampler=sampler)
model = DistributedDataParallel(Tagger())
opt = torch.optim.AdamW(model.parameters(), lr=5e-3)
emit(event="start", world=world, params=sum(p.numel() for p in model.parameters()))
step = 0
for epoch in range(3):
    sampler.set_epoch(epoch)
    for x, y in loader:
        loss = nn.functional.cross_entropy(model(x).flatten(0, 1), y.flatten())
        opt.zero_grad()
        loss.backward()
        opt.step()
        time.sleep(0.16)
        step += 1
        if step % 10 == 0:
            emit(event="train", epoch=epoch, step=step, loss=round(loss.item(), 4), lr=5e-3)
    with torch.no_grad():
        hit = (model.module(words[1301 + rank::world]).argmax(-1) == tags[1301 + rank::world]).float().sum()
    dist.all_reduce(hit)
    emit(event="eval", epoch=epoch, step=step, accuracy=round(hit.item() / (200 * 20), 4))
    if rank == 0:
        torch.save(model.module.state_dict(), f"tagger-{epoch}.tmp")
        os.replace(f"tagger-{epoch}.tmp", f"tagger-{epoch}.pt")
    dist.barrier()
emit(event="end", step=step)
dist.destroy_process_group()
