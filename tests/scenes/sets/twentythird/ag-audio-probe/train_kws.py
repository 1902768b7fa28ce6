"""Keyword spotting; clips are probed with grep, decoded in a process pool whose workers are renewed."""
import json
import logging
import multiprocessing as mp
import os
import subprocess
import time
import wave

import numpy as np
import torch
import torch.nn as nn

logging.basicConfig(level=logging.INFO, format="%(asctime)s [%(levelname)s] %(message)s")
log = logging.getLogger("kws")


def decode(i):
    try:
        with wave.open(f"clips/{i:03d}.wav") as w:
            x = np.frombuffer(w.readframes(600), dtype="<i2") / 32768
        return i, np.abs(np.fft.rfft(x))[:128].astype("float32")
    except wave.Error:
        log.warning("clip %03d is broken, left out", i, exc_info=True)
        return i, None


def clipped(i):
    # grep leaves with 1 when the word is not there
    rc = subprocess.run(["grep", "-q", "clipped", f"clips/{i:03d}.json"]).returncode
    log.info("probe %03d: grep exit code %d (%s)", i, rc, "clipped" if rc == 0 else "not clipped")
    return rc == 0


def main():
    torch.manual_seed(0)
    os.makedirs("ckpt", exist_ok=True)
    f0s = [220, 330, 440, 550]
    label = [f0s.index(json.load(open(f"clips/{i:03d}.json"))["f0"]) for i in range(60)]
    net = nn.Sequential(nn.Linear(128, 64), nn.ReLU(), nn.Linear(64, 4))
    opt = torch.optim.Adam(net.parameters(), 2e-4)
    step = 0
    with mp.get_context("fork").Pool(2, maxtasksperchild=10) as pool:
        for epoch in range(1, 11):
            order = np.random.default_rng(epoch).permutation(60).tolist()
            if epoch <= 3:
                for i in order[:4]:
                    clipped(i)
            xs, ys, left_out = [], [], 0
            for i, x in pool.imap(decode, order):
                if x is None:
                    left_out += 1
                    continue
                xs.append(x)
                ys.append(label[i])
            for k in range(0, len(xs), 2):
                x = torch.from_numpy(np.stack(xs[k:k + 2]))
                loss = nn.functional.cross_entropy(net(x), torch.tensor(ys[k:k + 2]))
                opt.zero_grad()
                loss.backward()
                opt.step()
                step += 1
                time.sleep(0.35)
                if step % 10 == 0:
                    log.info("epoch %d step %d loss %.4f", epoch, step, loss.item())
            torch.save(net.state_dict(), f"ckpt/epoch{epoch}.pt")
            log.info("epoch %d: %d of 60 clips left out, saved ckpt/epoch%d.pt", epoch, left_out, epoch)
    log.info("finished")


if __name__ == "__main__":
    main()
