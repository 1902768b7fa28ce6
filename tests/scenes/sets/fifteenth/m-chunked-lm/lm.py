import argparse, glob, os, sys, time
import torch
from torch import nn

ap = argparse.ArgumentParser()
ap.add_argument("--max-steps", type=int, default=150)
ap.add_argument("--budget-s", type=float, default=25)
a = ap.parse_args()


class CharLM(nn.Module):
    def __init__(self, v=40, h=48):
        super().__init__()
        self.emb, self.rnn, self.out = nn.Embedding(v, h), nn.GRU(h, h, batch_first=True), nn.Linear(h, v)

    def forward(self, x):
        return self.out(self.rnn(self.emb(x))[0])


TEXT = "the quick brown fox jumps over the lazy dog while seven wizards box with a jolly gnu. " * 30
VOC = sorted(set(TEXT))
data = torch.tensor([VOC.index(c) for c in TEXT])
torch.manual_seed(0)
net = CharLM()
opt = torch.optim.AdamW(net.parameters(), lr=4e-3)
step = 0
os.makedirs("ckpt", exist_ok=True)
if last := sorted(glob.glob("ckpt/*.pt")):
    ck = torch.load(last[-1])
    net.load_state_dict(ck["net"])
    opt.load_state_dict(ck["opt"])
    step = ck["step"]
    print(f"resumed from {last[-1]} at step {step}")
else:
    print("no checkpoint, from scratch")


def save():
    path = f"ckpt/step{step:06d}.pt"
    torch.save({"net": net.state_dict(), "opt": opt.state_dict(), "step": step}, path)
    for old in sorted(glob.glob("ckpt/*.pt"))[:-2]:
        os.remove(old)
    print(f"checkpoint {path}")


began = time.monotonic()
while step < a.max_steps:
    at = torch.randint(0, len(data) - 33, (16,))
    x = torch.stack([data[i:i + 33] for i in at])
    loss = nn.functional.cross_entropy(net(x[:, :-1]).flatten(0, 1), x[:, 1:].flatten())
    opt.zero_grad()
    loss.backward()
    opt.step()
    step += 1
    time.sleep(0.35)
    if step % 5 == 0:
        print(f"step {step}/{a.max_steps} loss {loss.item():.4f}")
    if time.monotonic() - began > a.budget_s and step < a.max_steps:
        save()
        sys.exit(85)
save()
print("all steps done")
