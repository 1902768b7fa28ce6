"""Low-rank tuning of a small decoder on the lab notes."""
import json, os, time
import torch
import torch.nn as nn
from accelerate import Accelerator
from accelerate.utils import set_seed


class LoRA(nn.Module):
    def __init__(self, base, r=4):
        super().__init__()
        self.base = base.requires_grad_(False)
        self.a = nn.Parameter(torch.randn(r, base.in_features) * 0.02)
        self.b = nn.Parameter(torch.zeros(base.out_features, r))

    def forward(self, x):
        return self.base(x) + x @ self.a.T @ self.b.T * 2


def main():
    set_seed(21)
    acc = Accelerator(cpu=True, gradient_accumulation_steps=2)
    torch.set_num_threads(1)
    emb = nn.Embedding(200, 64).requires_grad_(False)
    net = nn.Sequential(emb, LoRA(nn.Linear(64, 128)), nn.GELU(), LoRA(nn.Linear(128, 200)))
    opt = torch.optim.AdamW([p for p in net.parameters() if p.requires_grad], lr=4e-3)
    sched = torch.optim.lr_scheduler.CosineAnnealingLR(opt, 300)
    net, opt, sched = acc.prepare(net, opt, sched)
    os.makedirs("adapters", exist_ok=True)
    acc.print("trainable parameters:", sum(p.numel() for p in net.parameters() if p.requires_grad), flush=True)
    t0 = time.time()
    for step in range(1, 601):
        with acc.accumulate(net):
            ids = torch.randint(0, 200, (16, 32))
            loss = nn.functional.cross_entropy(net(ids).flatten(0, 1), ((ids * 7 + 3) % 200).flatten())
            acc.backward(loss)
            opt.step()
            sched.step()
            opt.zero_grad()
        time.sleep(0.2)
        if step % 5 == 0:
            acc.print(json.dumps({"step": step, "loss": round(loss.item(), 4), "lr": round(sched.get_last_lr()[0], 6),
                                  "elapsed": round(time.time() - t0, 1)}), flush=True)
        if step % 100 == 0:
            torch.save({k: v for k, v in net.state_dict().items() if k.endswith((".a", ".b"))}, f"adapters/{step}.pt")


if __name__ == "__main__":
    main()
