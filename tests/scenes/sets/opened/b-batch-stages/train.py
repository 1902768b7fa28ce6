"""Batch size grows in stages. A stage ends with a planned restart of the worker group (torchrun --max-restarts),
because the data service can change its batch size only for new workers."""
import os
import sys
import time

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel as DDP

STAGES = [(0, 16), (50, 32), (100, 64)]           # from step, batch size
TOTAL, PLANNED = 150, 64

dist.init_process_group("gloo")
rank = dist.get_rank()
restart = int(os.environ.get("TORCHELASTIC_RESTART_COUNT", "0"))
torch.manual_seed(0)
net = torch.nn.Sequential(torch.nn.Linear(20, 64), torch.nn.ReLU(), torch.nn.Linear(64, 5))
step = 0
if os.path.exists("snapshot.pt"):
    snap = torch.load("snapshot.pt", weights_only=True)
    net.load_state_dict(snap["net"])
    step = snap["step"]
model = DDP(net)
opt = torch.optim.SGD(model.parameters(), lr=0.1)
batch = [b for s, b in STAGES if s <= step][-1]
ends = [s for s, _ in STAGES if s > step]
stage_end = ends[0] if ends else TOTAL
if rank == 0:
    print(f"[trainer] worker group start no. {restart}: step {step}, batch size {batch}, stage ends at step {stage_end}", flush=True)
gen = torch.Generator().manual_seed(1000 * rank + step)
teacher = torch.randn(20, 5, generator=torch.Generator().manual_seed(9))
while step < stage_end:
    x = torch.randn(batch, 20, generator=gen)
    loss = torch.nn.functional.cross_entropy(model(x), (x @ teacher).argmax(1))
    opt.zero_grad()
    loss.backward()
    opt.step()
    step += 1
    time.sleep(0.25)
    if rank == 0 and step % 10 == 0:
        print(f"[trainer] step {step}/{TOTAL} loss {loss.item():.4f}", flush=True)
if rank == 0:
    torch.save({"net": net.state_dict(), "step": step}, "snapshot.tmp")
    os.replace("snapshot.tmp", "snapshot.pt")
    print(f"[trainer] snapshot at step {step}", flush=True)
dist.barrier()
dist.destroy_process_group()
if step < TOTAL:
    if rank == 0:
        print("[trainer] stage done, leaving for the planned restart of the worker group", flush=True)
    sys.exit(PLANNED)
if rank == 0:
    print("[trainer] all stages done", flush=True)
