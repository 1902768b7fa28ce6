import os
import time

import torch
import torch.distributed as dist
import torch.nn.functional as F

STEPS, EVAL_EVERY, PATIENCE, MIN_DELTA = 240, 10, 3, 0.02


def make(rank):
    g = torch.Generator().manual_seed(50 + rank)
    teacher = torch.randn(32, 10, generator=torch.Generator().manual_seed(1))
    x = torch.randn(2048, 32, generator=g)
    y = (x @ teacher).argmax(1)
    if rank == 1:                                # this site's labels were shuffled by its export
        y = y[torch.randperm(len(y), generator=g)]
    return x[:1536], y[:1536], x[1536:], y[1536:]


def main():
    dist.init_process_group("gloo")
    rank, world = dist.get_rank(), dist.get_world_size()
    os.makedirs("logs", exist_ok=True)
    mine = open(f"logs/site{rank}.log", "a", buffering=1)
    x, y, xv, yv = make(rank)
    w = torch.zeros(32, 10, requires_grad=True)
    best, bad = float("inf"), 0
    for step in range(1, STEPS + 1):
        i = torch.randint(0, len(x), (64,))
        loss = F.cross_entropy(x[i] @ w, y[i])
        (g,) = torch.autograd.grad(loss, w)
        dist.all_reduce(g)
        with torch.no_grad():
            w -= 0.3 * g / world
        time.sleep(0.3)
        if step % EVAL_EVERY == 0:
            val = F.cross_entropy(xv @ w, yv).item()
            print(f"{step} val={val:.4f}", file=mine)
            if rank == 0:
                print(f"[{time.strftime('%H:%M:%S')}] round {step:4d}/{STEPS}  train {loss.item():.4f}  val {val:.4f}", flush=True)
            if val < best - MIN_DELTA:
                best, bad = val, 0
            else:
                bad += 1
            if bad >= PATIENCE:
                print(f"early stop at {step}", file=mine)
                mine.flush()
                os._exit(0)
    if rank == 0:
        torch.save(w, "w.pt")
        print("finished", flush=True)


if __name__ == "__main__":
    torch.manual_seed(0)
    main()
