"""Plain torch loop; a thread writes the checkpoints so that the loop never waits."""
import copy
import os
import queue
import threading
import time

import torch
import torch.nn as nn
import torch.nn.functional as F

CKPT = "ckpt"


class AsyncSaver(threading.Thread):
    def __init__(self):
        super().__init__(daemon=True, name="AsyncSaver")
        self.q = queue.Queue()

    def run(self):
        while True:
            step, state = self.q.get()
            torch.save(state, f"{CKPT}/model-{step:06d}.pt")
            for old in sorted(os.listdir(CKPT))[:-3]:
                os.remove(f"{CKPT}/{old}")


def main():
    torch.manual_seed(0)
    os.makedirs(CKPT, exist_ok=True)
    saver = AsyncSaver()
    saver.start()
    net = nn.Sequential(nn.Linear(64, 256), nn.ReLU(), nn.Linear(256, 16))
    opt = torch.optim.Adam(net.parameters(), lr=5e-4)
    w = torch.randn(64, 16)
    for step in range(1, 2001):
        x = torch.randn(48, 64)
        loss = F.mse_loss(net(x), torch.tanh(x @ w))
        opt.zero_grad()
        loss.backward()
        opt.step()
        time.sleep(0.12)
        if step % 20 == 0:
            print(f"{step:06d}  {loss.item():.5f}", flush=True)
        if step % 40 == 0:
            saver.q.put((step, copy.deepcopy(net.state_dict())))


if __name__ == "__main__":
    main()
