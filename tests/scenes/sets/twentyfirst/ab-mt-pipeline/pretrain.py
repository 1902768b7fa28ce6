import csv
import time

import torch
import torch.nn.functional as F

from ckpt import save_async
from model import Seq

torch.manual_seed(0)
STEPS = 150
table = torch.randint(0, 2000, (2000, 3))  # a bigram grammar: each word has three followers
m = Seq()
opt = torch.optim.Adam(m.parameters(), lr=2e-3)
out = csv.writer(open("pretrain.csv", "w", buffering=1))
out.writerow(["step", "loss", "lr"])
for step in range(1, STEPS + 1):
    x = torch.randint(0, 2000, (8, 1))
    while x.shape[1] < 24:
        x = torch.cat([x, table[x[:, -1], torch.randint(0, 3, (8,))][:, None]], 1)
    loss = F.cross_entropy(m(x[:, :-1]).reshape(-1, 2000), x[:, 1:].reshape(-1))
    opt.zero_grad()
    loss.backward()
    opt.step()
    time.sleep(0.33)
    if step % 5 == 0:
        out.writerow([step, round(loss.item(), 4), 2e-3])
        print(f"pretrain {step:4d}/{STEPS}  loss={loss.item():.3f}", flush=True)
    if step % 50 == 0:
        save_async(m.state_dict(), f"pretrained/step{step}.pt")
        print(f"saving pretrained/step{step}.pt in the background", flush=True)
save_async(m.state_dict(), "pretrained/last.pt")
print("pretraining done, model in pretrained/last.pt", flush=True)
