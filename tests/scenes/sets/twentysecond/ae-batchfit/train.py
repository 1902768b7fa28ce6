"""Segmentation net; the batch size that fits is found by trying."""
import time

import torch
from accelerate import Accelerator
from accelerate.utils import find_executable_batch_size
from torch import nn

torch.set_num_threads(1)
acc = Accelerator(cpu=True)


@find_executable_batch_size(starting_batch_size=1024)
def train(batch):
    print(f"trying batch size {batch}", flush=True)
    torch.manual_seed(0)
    net = nn.Sequential(nn.Conv2d(1, 16, 3, padding=1), nn.ReLU(), nn.Conv2d(16, 16, 3, padding=1), nn.ReLU(),
                        nn.Conv2d(16, 2, 1))
    net, opt = acc.prepare(net, torch.optim.Adam(net.parameters(), lr=2e-3))
    # the activations of the largest crops in one piece, so that what does not fit fails at once
    try:
        room = torch.empty(batch, 48, 128, 128)
    except RuntimeError as e:
        print(f"batch size {batch} does not fit: {str(e).splitlines()[0]}", flush=True)
        raise
    del room
    print(f"batch size {batch} fits, training", flush=True)
    for step in range(1, 241):
        m = (torch.rand(8, 1, 6, 6) < 0.4).float()
        m = nn.functional.interpolate(m, (24, 24))
        x = m + 0.8 * torch.randn_like(m)
        out = net(x)
        loss = nn.functional.cross_entropy(out, m[:, 0].long())
        acc.backward(loss)
        opt.step()
        opt.zero_grad()
        time.sleep(0.3)
        if step % 8 == 0:
            iou = ((out.argmax(1) == 1) & (m[:, 0] == 1)).sum() / ((out.argmax(1) == 1) | (m[:, 0] == 1)).sum().clamp(1)
            print(f"step {step:4d} loss {loss.item():.4f} iou {iou.item():.3f}", flush=True)
        if step % 80 == 0:
            acc.save(net.state_dict(), "seg.pt")
    print("done", flush=True)


train()
