import json
import os
import time

import torch
import torch.nn as nn
from accelerate import Accelerator, debug_launcher
from accelerate.utils import ProjectConfiguration
from torch.utils.data import DataLoader, TensorDataset


def table(n, seed):
    g = torch.Generator().manual_seed(seed)
    x = torch.randn(n, 12, generator=g)
    y = (x[:, 0] * x[:, 1] + torch.sin(2 * x[:, 2]) + 0.1 * torch.randn(n, generator=g)).unsqueeze(1)
    return TensorDataset(x, y)


def say(acc, **what):
    if acc.process_index == 0:
        print(json.dumps(what), flush=True)


def main():
    acc = Accelerator(cpu=True, project_config=ProjectConfiguration("exp", automatic_checkpoint_naming=True, total_limit=2))
    torch.manual_seed(1)
    net = nn.Sequential(nn.Linear(12, 128), nn.SiLU(), nn.Linear(128, 128), nn.SiLU(), nn.Linear(128, 1))
    opt = torch.optim.AdamW(net.parameters(), lr=3e-3)
    train, val = DataLoader(table(2750, 1), batch_size=32, shuffle=True), DataLoader(table(333, 2), batch_size=32)
    net, opt, train, val = acc.prepare(net, opt, train, val)
    say(acc, world=acc.num_processes, backend=str(acc.distributed_type), batches=len(train))
    for epoch in range(1, 9):
        net.train()
        total, t0 = torch.zeros(()), time.time()
        for x, y in train:
            loss = nn.functional.mse_loss(net(x), y)
            acc.backward(loss)
            acc.clip_grad_norm_(net.parameters(), 5.0)
            opt.step()
            opt.zero_grad()
            total += loss.detach()
            time.sleep(0.09)
        net.eval()
        errs = []
        with torch.no_grad():
            for x, y in val:
                errs.append(acc.gather_for_metrics((net(x) - y) ** 2))
        mean = acc.reduce(total / len(train), "mean").item()
        say(acc, epoch=epoch, train_mse=round(mean, 5), val_mse=round(torch.cat(errs).mean().item(), 5),
            sec=round(time.time() - t0, 2))
        acc.save_state()
    acc.wait_for_everyone()
    if acc.is_main_process:
        acc.save(net.module.state_dict(), os.path.join("exp", "net.pt"))
    say(acc, status="ok")


if __name__ == "__main__":
    debug_launcher(main, num_processes=2)
