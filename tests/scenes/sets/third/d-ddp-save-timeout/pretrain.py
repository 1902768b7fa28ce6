import io
import logging
import os
import time
from datetime import timedelta

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP

BW = int(os.environ.get("CKPT_BWLIMIT_KB", "300")) * 1024   # leave the uplink for the other jobs


def write_limited(obj, path):
    buf = io.BytesIO()
    torch.save(obj, buf)
    data = buf.getbuffer()
    with open(path + ".part", "wb") as f:
        for at in range(0, len(data), 65536):
            f.write(data[at:at + 65536])
            f.flush()
            time.sleep(65536 / BW)
    os.replace(path + ".part", path)
    return len(data)


def main():
    torch.set_num_threads(1)
    dist.init_process_group("gloo", timeout=timedelta(seconds=20))
    rank = dist.get_rank()
    logging.basicConfig(level=logging.INFO if rank == 0 else logging.WARNING,
                        format=f"%(asctime)s | rank{rank} | %(message)s", datefmt="%H:%M:%S")
    torch.manual_seed(2)
    net = nn.Sequential(nn.Linear(256, 512), nn.GELU(), nn.Linear(512, 256))
    model = DDP(net)
    opt = torch.optim.AdamW(model.parameters(), lr=1e-3)
    ema = {k: v.detach().clone() for k, v in net.state_dict().items()}
    shuffle_buffer = torch.randn(1600, 1024)
    basis = torch.randn(12, 256, generator=torch.Generator().manual_seed(1))
    g = torch.Generator().manual_seed(50 + rank)
    os.makedirs("ckpt", exist_ok=True)
    logging.info("pretraining on %d ranks, %d parameters", dist.get_world_size(), sum(p.numel() for p in net.parameters()))
    for it in range(1, 601):
        clean = torch.randn(64, 12, generator=g) @ basis / 3.5
        loss = nn.functional.mse_loss(model(clean + 0.5 * torch.randn(64, 256, generator=g)), clean)
        opt.zero_grad(set_to_none=True)
        loss.backward()
        opt.step()
        with torch.no_grad():
            for k, v in net.state_dict().items():
                ema[k].lerp_(v, 0.01)
        time.sleep(0.28)
        if it % 5 == 0:
            logging.info("it %d loss %.4f lr %.1e", it, loss.item(), opt.param_groups[0]["lr"])
        if rank == 0 and it % 75 == 0:
            logging.info("it %d: writing full training state (for an exact resume)", it)
            began = time.time()
            n = write_limited({"net": net.state_dict(), "opt": opt.state_dict(), "ema": ema,
                               "shuffle_buffer": shuffle_buffer, "rng": torch.get_rng_state(), "it": it}, f"ckpt/full_{it:05d}.pt")
            logging.info("it %d: full state, %.1f MB in %.1f s", it, n / 1e6, time.time() - began)
        elif rank == 0 and it % 25 == 0:
            began = time.time()
            n = write_limited({"net": net.state_dict(), "it": it}, f"ckpt/weights_{it:05d}.pt")
            logging.info("it %d: weights, %.1f MB in %.1f s", it, n / 1e6, time.time() - began)
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
