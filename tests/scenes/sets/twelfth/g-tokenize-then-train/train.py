import glob
import random
import time

import torch
from torch import nn
from tqdm import tqdm

torch.set_num_threads(1)
torch.manual_seed(0)
docs = [torch.tensor([int(t) for t in line.split()]) for path in sorted(glob.glob("tokens/*.txt")) for line in open(path)]
print(f"{len(docs)} documents, {sum(map(len, docs))} tokens")
emb, out = nn.Embedding(500, 24), nn.Linear(24, 500)
opt = torch.optim.SGD([*emb.parameters(), *out.parameters()], lr=0.5, momentum=0.9)
random.seed(1)
ACCUMULATE = 4
for epoch in range(3):
    bar = tqdm(range(80), desc=f"epoch {epoch + 1}/3", mininterval=0.5)
    for i in bar:
        doc = random.choice(docs)
        loss = nn.functional.cross_entropy(out(emb(doc[:-1])), (doc[:-1] + 17) % 500)
        (loss / ACCUMULATE).backward()
        if (i + 1) % ACCUMULATE == 0:
            opt.step()
            opt.zero_grad()
        time.sleep(0.12)
        bar.set_postfix(loss=f"{loss.item():.3f}")
    torch.save({"emb": emb.state_dict(), "out": out.state_dict()}, f"epoch{epoch + 1}.pt")
print("finished, model in epoch3.pt")
