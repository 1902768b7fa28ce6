import argparse
import logging
import time
import urllib.error
import urllib.request

import numpy as np
import torch
from accelerate import Accelerator
from torch import nn

logging.basicConfig(level=logging.INFO, format="%(asctime)s - %(name)s - %(levelname)s - %(message)s")
log = logging.getLogger("langid")
net_log = logging.getLogger("langid.stream")


class Radio(torch.utils.data.IterableDataset):
    def __init__(self, url):
        self.url = url

    def fetch(self, n):
        for attempt in range(1, 6):
            try:
                with urllib.request.urlopen(f"{self.url}/clip/{n}", timeout=10) as r:
                    return r.read()
            except urllib.error.HTTPError as e:
                net_log.warning("GET /clip/%d failed: %s, retry %d/5 in %.1fs", n, e, attempt, 0.5 * attempt)
                time.sleep(0.5 * attempt)
        raise RuntimeError(f"giving up on clip {n}")

    def __iter__(self):
        n = 0
        while True:
            n += 1
            try:
                wav = np.frombuffer(self.fetch(n), "<f4")
            except ValueError as e:
                net_log.warning("skipping clip %d: decode error: %s", n, e)
                continue
            spec = np.abs(np.fft.rfft(wav.reshape(16, 100)))[:, :32].astype("f4")
            yield torch.from_numpy(spec), n % 6


def main():
    p = argparse.ArgumentParser()
    p.add_argument("--url")
    p.add_argument("--max_steps", type=int)
    a = p.parse_args()
    acc = Accelerator(cpu=True, gradient_accumulation_steps=2)
    torch.manual_seed(0)
    model = nn.Sequential(nn.Flatten(), nn.Linear(512, 64), nn.ReLU(), nn.Linear(64, 6))
    opt = torch.optim.AdamW(model.parameters(), lr=5e-4)
    sched = torch.optim.lr_scheduler.CosineAnnealingLR(opt, a.max_steps)
    model, opt, sched, loader = acc.prepare(model, opt, sched, torch.utils.data.DataLoader(Radio(a.url), batch_size=8))
    log.info("***** Running training *****")
    log.info("  Total optimization steps = %d", a.max_steps)
    for step, (x, y) in enumerate(loader, 1):
        with acc.accumulate(model):
            loss = nn.functional.cross_entropy(model(x), y)
            acc.backward(loss)
            opt.step()
            sched.step()
            opt.zero_grad()
        time.sleep(0.12)
        if step % 20 == 0:
            log.info("step %d: loss=%.4f lr=%.2e", step, loss.item(), sched.get_last_lr()[0])
        if step % 100 == 0:
            acc.save_state(f"ckpt/{step}")
        if step >= a.max_steps:
            break
    acc.wait_for_everyone()
    torch.save(acc.unwrap_model(model).state_dict(), "langid.pt")
    log.info("model written to langid.pt")


main()
