import time

import torch
from torch import nn

CFG = {"steps": 700, "batch": 24, "lr": 2e-3, "init_scale": 2.0**126, "growth_interval": 60}


class Block(nn.Module):
    def __init__(self, d):
        super().__init__()
        self.a, self.b, self.n = nn.Linear(d, 2 * d), nn.Linear(2 * d, d), nn.LayerNorm(d)

    def forward(self, x):
        return x + self.b(nn.functional.gelu(self.a(self.n(x))))


def main():
    torch.set_num_threads(1)
    torch.manual_seed(9)
    model = nn.Sequential(nn.Linear(24, 32), Block(32), Block(32), nn.Linear(32, 8))
    teacher = nn.Sequential(nn.Linear(24, 16), nn.Tanh(), nn.Linear(16, 8)).requires_grad_(False)
    opt = torch.optim.AdamW(model.parameters(), lr=CFG["lr"])
    scaler = torch.amp.GradScaler("cpu", init_scale=CFG["init_scale"], growth_interval=CFG["growth_interval"])
    skipped = 0
    for step in range(1, CFG["steps"] + 1):
        x = torch.randn(CFG["batch"], 24)
        loss = 40 * nn.functional.mse_loss(model(x), teacher(x))
        opt.zero_grad()
        scaler.scale(loss).backward()
        before = scaler.get_scale()
        scaler.step(opt)
        scaler.update()
        if scaler.get_scale() < before:
            skipped += 1
            print(f"[step {step}] OVERFLOW! inf in gradients, skipping step. Reducing loss scale from {before:.3g} to {scaler.get_scale():.3g}")
        time.sleep(0.11)
        if step % 20 == 0:
            print(f"[step {step}] loss={loss.item():.4f} scale={scaler.get_scale():.3g} skipped={skipped}")
        if step % 200 == 0:
            torch.save({"model": model.state_dict(), "scaler": scaler.state_dict(), "step": step}, f"ckpt_{step}.pt")
            print(f"[step {step}] wrote ckpt_{step}.pt")
    print(f"finished, {skipped} of {CFG['steps']} steps skipped")


if __name__ == "__main__":
    main()
