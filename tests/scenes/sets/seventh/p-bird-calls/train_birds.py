"""Bird or not: training on clips that a decoder process gives us one by one."""
import logging
import subprocess
import sys
import time

import numpy as np
import torch
from torch import nn
from torch.utils.data import DataLoader, IterableDataset

logging.basicConfig(filename="birds.log", level=logging.INFO, format="%(asctime)s %(levelname).1s %(message)s")


class Clips(IterableDataset):
    def __iter__(self):
        dec = subprocess.Popen([sys.executable, "bird_decoder.py"], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                               stderr=subprocess.PIPE)
        clip = 0
        while True:
            clip += 1
            dec.stdin.write(b"%d\n" % clip)
            dec.stdin.flush()
            raw = dec.stdout.read(1600)
            if len(raw) < 1600:
                raise RuntimeError(f"decoder gave up on clip {clip}")
            time.sleep(0.06)
            x = np.frombuffer(raw, "<f4").copy()
            yield torch.from_numpy(x), torch.tensor(float(x[:40].mean() > 0))


def main():
    torch.manual_seed(0)
    torch.set_num_threads(1)
    net = nn.Sequential(nn.Linear(400, 128), nn.ReLU(), nn.Linear(128, 1))
    opt = torch.optim.Adam(net.parameters(), 1e-3)
    logging.info("training on the clip stream, until somebody stops it")
    since, seen, saved = time.time(), 0, time.time()
    avg = 0.7
    for x, y in DataLoader(Clips(), batch_size=4, num_workers=1):
        loss = nn.functional.binary_cross_entropy_with_logits(net(x)[:, 0], y)
        opt.zero_grad()
        loss.backward()
        opt.step()
        avg = 0.95 * avg + 0.05 * loss.item()
        seen += len(x)
        if time.time() - since > 2:
            logging.info("loss %.4f  %.1f clips/s  lr %.1e", avg, seen / (time.time() - since), 1e-3)
            since, seen = time.time(), 0
        if time.time() - saved > 8:
            torch.save(net.state_dict(), "birds_latest.pt")
            logging.info("wrote birds_latest.pt")
            saved = time.time()


if __name__ == "__main__":
    main()
