"""Acoustic model for TTS. Eight feeder threads fetch and decode the clips, each takes about 2 s a batch."""
import itertools
import os
import queue
import threading
import time

import torch
import torch.nn as nn

BATCH, FEEDERS, MAX_STEPS = 8, 8, 190
rows = [line.rstrip("\n").split("\t") for line in open("manifest.tsv")]
batches = itertools.chain.from_iterable(
    [rows[i:i + BATCH] for i in range(0, len(rows), BATCH)] for _ in range(3))
lock = threading.Lock()
ready = queue.Queue(maxsize=4)


def feeder():
    while True:
        with lock:
            part = next(batches, None)
        if part is None:
            return
        try:
            durs = [float(d) for _, d, _ in part]
            time.sleep(0.4 * sum(durs) / len(durs) + 1.0)  # object store and decoder
            x = torch.stack([torch.full((16,), d) + 0.1 * torch.randn(16) for d in durs])
            ready.put((x, torch.tensor(durs)))
        except Exception:
            return


def main():
    torch.manual_seed(6)
    os.makedirs("ckpt", exist_ok=True)
    net = nn.Sequential(nn.Linear(16, 64), nn.Tanh(), nn.Linear(64, 1))
    opt = torch.optim.Adam(net.parameters(), 2e-3)
    for _ in range(FEEDERS):
        threading.Thread(target=feeder, daemon=True).start()
    total, t_last = MAX_STEPS, time.time()
    for step in range(1, total + 1):
        t0 = time.time()
        x, y = ready.get()
        wait = time.time() - t0
        loss = (net(x).squeeze(-1) - y).abs().mean()
        opt.zero_grad()
        loss.backward()
        opt.step()
        time.sleep(0.3)
        if step % 5 == 0:
            now = time.time()
            print(f"step {step:4d}/{total} mel_l1 {loss.item():.4f} {5 / (now - t_last):.2f} it/s data_wait {wait:.2f}s", flush=True)
            t_last = now
        if step % 50 == 0:
            torch.save(net.state_dict(), f"ckpt/tts-{step}.pt")
            print(f"saved ckpt/tts-{step}.pt", flush=True)
    print("done", flush=True)


if __name__ == "__main__":
    main()
