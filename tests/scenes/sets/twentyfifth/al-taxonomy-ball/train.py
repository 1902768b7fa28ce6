"""Embedding of a product taxonomy in the Poincare ball."""
import os
import time

import torch

from ball import check, distance, riemann

torch.set_num_threads(1)
torch.manual_seed(5)
N, DIM, NEG = 364, 5, 10
parent = torch.tensor([(i - 1) // 3 for i in range(1, N)])
child = torch.arange(1, N)


def main():
    os.makedirs("emb", exist_ok=True)
    x = (torch.rand(N, DIM, dtype=torch.float64) - 0.5) * 2e-2
    lr = 0.02
    for epoch in range(1, 1001):
        total = 0.0
        order = torch.randperm(N - 1)
        for part in order.split(64):
            x.requires_grad_(True)
            u, v = x[child[part]], x[parent[part]]
            neg = x[torch.randint(0, N, (len(part), NEG))]
            d = torch.cat([distance(u, v)[:, None], distance(u[:, None], neg)], 1)
            loss = -torch.log_softmax(-d, 1)[:, 0].sum()
            g, = torch.autograd.grad(loss, x)
            with torch.no_grad():
                x = x - lr * riemann(x, g)
            check(x)
            total += loss.item()
        lr *= 1.02
        time.sleep(0.4)
        if epoch % 2 == 0:
            n = x.norm(dim=-1)
            print(f"epoch {epoch:4d}  loss {total / (N - 1):.4f}  mean |x| {n.mean():.4f}  leaves {n[121:].mean():.4f}  lr {lr:.3f}", flush=True)
        if epoch % 30 == 0:
            torch.save({"x": x, "epoch": epoch}, f"emb/taxonomy_{epoch:04d}.pt")
            print(f"saved emb/taxonomy_{epoch:04d}.pt", flush=True)


if __name__ == "__main__":
    main()
