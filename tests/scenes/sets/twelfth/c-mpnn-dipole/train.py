import argparse
import time
from pathlib import Path

import torch
import yaml
from model import MPNN
from tqdm import tqdm

CHARGES = torch.tensor([0.4, -0.3, 0.1, -0.5, 0.2, 0.0])


def molecules(batch, nodes, gen):
    z = torch.randint(0, 6, (batch, nodes), generator=gen)
    pos = torch.randn(batch, nodes, 3, generator=gen)
    q = CHARGES[z]
    q = q - q.mean(1, keepdim=True)
    mu = (q[..., None] * pos).sum(1)
    return z, pos, mu + 0.1 * torch.randn(mu.shape, generator=gen)


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--config", required=True)
    cfg = yaml.safe_load(Path(ap.parse_args().config).read_text())
    torch.manual_seed(0)
    gen = torch.Generator().manual_seed(1)
    model = MPNN(cfg["hidden"], cfg["rounds"])
    opt = torch.optim.AdamW(model.parameters(), lr=cfg["lr"])
    print(f"{cfg['run']}: {sum(p.numel() for p in model.parameters())} weights, checkpoints in {cfg['ckpt_dir']}")
    for epoch in range(1, cfg["epochs"] + 1):
        total = 0.0
        bar = tqdm(range(cfg["steps_per_epoch"]), desc=f"epoch {epoch}", mininterval=0.5, leave=False)
        for _ in bar:
            z, pos, mu = molecules(cfg["batch"], cfg["nodes"], gen)
            loss = (model(z, pos) - mu).pow(2).mean()
            opt.zero_grad()
            loss.backward()
            opt.step()
            total += loss.item()
            bar.set_postfix(mse=f"{loss.item():.4f}")
            time.sleep(0.05)
        with torch.no_grad():
            z, pos, mu = molecules(64, cfg["nodes"], gen)
            mae = (model(z, pos) - mu).abs().mean().item()
        path = Path(cfg["ckpt_dir"]) / f"epoch{epoch:03d}.pt"
        torch.save({"epoch": epoch, "model": model.state_dict(), "optim": opt.state_dict(), "cfg": cfg}, path)
        print(f"epoch {epoch:3d}  train_mse {total / cfg['steps_per_epoch']:.5f}  val_mae {mae:.5f}  -> {path.name}")


if __name__ == "__main__":
    main()
