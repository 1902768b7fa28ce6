import os, time, datetime
import torch, torch.distributed as dist, torch.nn as nn
from torch.nn.parallel import DistributedDataParallel as DDP

torch.set_num_threads(1)


def say(msg):
    print(f"{datetime.datetime.now():%Y-%m-%d %H:%M:%S.%f} | INFO     | vits:train:{os.getpid()} - {msg}", flush=True)


class Vocoder(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(80, 128), nn.LeakyReLU(), nn.Linear(128, 128), nn.LeakyReLU(), nn.Linear(128, 256))

    def forward(self, mel):
        return torch.tanh(self.net(mel))


def main():
    dist.init_process_group("gloo", timeout=datetime.timedelta(minutes=10))
    rank = dist.get_rank()
    open(f"rank{rank}.pid", "w").write(str(os.getpid()))
    torch.manual_seed(1)
    net = DDP(Vocoder())
    opt = torch.optim.AdamW(net.parameters(), 2e-4, betas=(0.8, 0.99))
    w = torch.randn(80, 256) / 9
    g = torch.Generator().manual_seed(rank)
    start = time.time()
    for step in range(1, 601):
        mel = torch.randn(16, 80, generator=g)
        loss = (net(mel) - torch.tanh(mel @ w)).abs().mean() * 45
        opt.zero_grad()
        loss.backward()
        opt.step()
        time.sleep(0.15)
        if rank == 0 and step % 10 == 0:
            say(f"step {step}/600 loss_mel={loss.item():.3f} lr={opt.param_groups[0]['lr']:.1e} {step / (time.time() - start):.2f} it/s")
        if rank == 0 and step % 100 == 0:
            torch.save({"model": net.module.state_dict(), "step": step}, "G_latest.pth")
            say(f"Saved checkpoint G_latest.pth at step {step}")
    dist.destroy_process_group()


main()
