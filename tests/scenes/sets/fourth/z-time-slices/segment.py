"""Trains for at most SLICE seconds, then saves and leaves with 75 (EX_TEMPFAIL): the partition only gives short slots."""
import os, sys, time
import numpy as np
import torch
from torch.utils.data import DataLoader, Dataset

SLICE, LAST = 16, 150


class Cells(Dataset):
    def __len__(self):
        return 100000

    def __getitem__(self, i):
        r = np.random.default_rng(i)
        x = r.normal(size=96).astype("float32")
        return x, np.float32(np.sin(x[:6].sum()))


def main():
    begin = time.time()
    torch.manual_seed(1)
    torch.set_num_threads(1)
    net = torch.nn.Sequential(torch.nn.Linear(96, 128), torch.nn.SiLU(), torch.nn.Linear(128, 1))
    opt = torch.optim.AdamW(net.parameters(), lr=2e-3)
    step = 0
    if os.path.exists("segment.ckpt"):
        s = torch.load("segment.ckpt")
        net.load_state_dict(s["net"])
        opt.load_state_dict(s["opt"])
        step = s["step"]
        print(f"continuing from step {step}", file=sys.stderr)
    loader = DataLoader(Cells(), batch_size=32, shuffle=True, num_workers=1)
    for x, y in loader:
        loss = (net(x).squeeze(1) - y).pow(2).mean()
        opt.zero_grad()
        loss.backward()
        opt.step()
        step += 1
        time.sleep(0.3)
        if step % 5 == 0:
            print(f"step {step}/{LAST} mse {loss.item():.4f}", file=sys.stderr)
        out_of_time = time.time() - begin > SLICE
        if step >= LAST or out_of_time:
            torch.save({"net": net.state_dict(), "opt": opt.state_dict(), "step": step}, "segment.ckpt.tmp")
            os.replace("segment.ckpt.tmp", "segment.ckpt")
            if step >= LAST:
                print("all steps done", file=sys.stderr)
                return 0
            print(f"ERROR slot is over at step {step}, state saved, terminating with 75", file=sys.stderr)
            return 75


if __name__ == "__main__":
    sys.exit(main())
