import os
os.environ.setdefault("OMP_NUM_THREADS", "1")
import signal
import time
import torch
import torch.distributed as dist
from torch import nn

torch.set_num_threads(1)
signal.alarm(300)
TRAIN_ITERS, SAVE_INTERVAL, LOG_INTERVAL = 2000, 150, 10


def allreduce_grads(model, world):
    flat = torch.cat([p.grad.flatten() for p in model.parameters()])
    dist.all_reduce(flat)
    flat /= world
    off = 0
    for p in model.parameters():
        p.grad.copy_(flat[off:off + p.numel()].view_as(p))
        off += p.numel()
    return flat.norm().item()


def save_checkpoint(it, model, opt, rank):
    path = f"checkpoints/iter_{it:07d}/mp_rank_00"
    print(f"saving checkpoint at iteration {it:7d} to checkpoints in torch format", flush=True)
    os.makedirs(path, exist_ok=True)
    torch.save({"model": model.state_dict(), "optimizer": opt.state_dict(), "iteration": it},
               f"{path}/model_optim_rng.pt")
    with open("checkpoints/latest_checkpointed_iteration.txt", "w") as f:
        f.write(str(it))
    dist.barrier()          # nobody goes on before the tracker file is there
    print(f"  successfully saved checkpoint from iteration {it:7d} to checkpoints", flush=True)


def main():
    dist.init_process_group("gloo")
    rank, world = dist.get_rank(), dist.get_world_size()
    torch.manual_seed(1234)
    model = nn.Sequential(nn.Embedding(128, 48), nn.Linear(48, 96), nn.GELU(), nn.Linear(96, 128))
    opt = torch.optim.AdamW(model.parameters(), lr=2e-3)
    g = torch.Generator().manual_seed(rank)
    t0 = time.time()
    for it in range(1, TRAIN_ITERS + 1):
        x = torch.randint(0, 128, (256,), generator=g)
        loss = nn.functional.cross_entropy(model(x), (x * 3 + 1) % 128)
        opt.zero_grad()
        loss.backward()
        norm = allreduce_grads(model, world)
        opt.step()
        time.sleep(0.13)
        if rank == 0 and it % LOG_INTERVAL == 0:
            ms = (time.time() - t0) * 1000 / LOG_INTERVAL
            t0 = time.time()
            print(f" iteration {it:8d}/{TRAIN_ITERS:8d} | consumed samples: {it * 512:12d} | elapsed time per iteration "
                  f"(ms): {ms:.1f} | learning rate: 2.000E-03 | global batch size:   512 | lm loss: {loss.item():.6E} | "
                  f"loss scale: 1.0 | grad norm: {norm:.3f} | number of skipped iterations:   0 | "
                  f"number of nan iterations:   0 |", flush=True)
        if it % SAVE_INTERVAL == 0 and rank == 0:
            save_checkpoint(it, model, opt, rank)
    dist.destroy_process_group()


main()
