"""Pretraining under torchrun, gloo, DistributedSampler; rank 0 evaluates and saves while the others wait at the barrier."""
import logging
import os
import time

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader, DistributedSampler, TensorDataset
from transformers import GPT2Config, GPT2LMHeadModel

from corpus import text

PACE = float(os.environ.get("PACE", 0.45))
torch.set_num_threads(1)
dist.init_process_group("gloo")
rank, world = dist.get_rank(), dist.get_world_size()
logging.basicConfig(format=f"[%(asctime)s] [%(levelname)s] [rank {rank}] %(message)s", level=logging.INFO if rank == 0 else logging.WARNING)
log = logging.getLogger()
torch.manual_seed(9)


def blocks(chars, seed, size=96):
    ids = torch.tensor(list(text(chars, seed).encode()))
    return TensorDataset(ids[: len(ids) // size * size].view(-1, size))


train, valid = blocks(110_000, 1), blocks(9_000, 2)
sampler = DistributedSampler(train, shuffle=True, seed=1)
loader = DataLoader(train, batch_size=4, sampler=sampler, drop_last=True)
model = DDP(GPT2LMHeadModel(GPT2Config(vocab_size=256, n_positions=96, n_embd=96, n_layer=3, n_head=4, attn_pdrop=0.0, resid_pdrop=0.0, embd_pdrop=0.0)))
opt = torch.optim.AdamW(model.parameters(), lr=1.5e-3, betas=(0.9, 0.95), weight_decay=0.1)
sched = torch.optim.lr_scheduler.OneCycleLR(opt, 1.5e-3, total_steps=230, pct_start=0.1)
log.info("world_size=%d blocks=%d steps_per_epoch=%d", world, len(train), len(loader))


@torch.no_grad()
def validate():
    model.eval()
    total = 0.0
    for (x,) in DataLoader(valid, batch_size=4):
        total += model.module(input_ids=x, labels=x).loss.item() * len(x)
        time.sleep(PACE)
    model.train()
    return total / len(valid)


step, epoch = 0, 0
while step < 230:
    sampler.set_epoch(epoch)
    for (x,) in loader:
        t = time.time()
        loss = model(input_ids=x, labels=x).loss
        opt.zero_grad(set_to_none=True)
        loss.backward()
        norm = torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        opt.step()
        sched.step()
        step += 1
        time.sleep(PACE)
        dist.all_reduce(loss_all := loss.detach().clone())
        log.info("step: %d/230 | epoch: %d | loss: %.4f | gnorm: %.3f | lr: %.3e | dt: %.0f ms", step, epoch, loss_all / world, norm,
                 sched.get_last_lr()[0], (time.time() - t) * 1000)
        if step % 100 == 0:
            if rank == 0:
                log.info("validating and saving on rank 0")
                log.info("val_loss: %.4f", validate())
                torch.save(model.module.state_dict(), f"step_{step}.pt")
            dist.barrier()
        if step == 230:
            break
    epoch += 1
if rank == 0:
    torch.save(model.module.state_dict(), "final.pt")
    log.info("training complete")
dist.destroy_process_group()
