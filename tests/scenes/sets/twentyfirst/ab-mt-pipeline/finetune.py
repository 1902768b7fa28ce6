import time

import torch
import torch.nn.functional as F

from model import Seq

m = Seq()
m.load_state_dict(torch.load("pretrained/last.pt", weights_only=True))
opt = torch.optim.Adam(m.parameters(), lr=3e-4)
for step in range(1, 101):
    x = torch.randint(0, 200, (8, 24))
    loss = F.cross_entropy(m(x[:, :-1]).reshape(-1, 2000), x[:, 1:].reshape(-1))
    opt.zero_grad()
    loss.backward()
    opt.step()
    time.sleep(0.3)
    if step % 5 == 0:
        print(f"finetune {step:4d}/100  loss={loss.item():.3f}", flush=True)
torch.save(m.state_dict(), "finetuned.pt")
