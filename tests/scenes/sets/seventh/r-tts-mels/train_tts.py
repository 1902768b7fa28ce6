import json
import logging
import queue
import threading
import time

import numpy as np
import torch
from torch import nn

logging.basicConfig(level=logging.INFO, format="%(asctime)s %(levelname).1s %(name)s: %(message)s")
log = logging.getLogger("tts")

N_UTT = 700


def make_manifest(path):
    rng = np.random.default_rng(3)
    with open(path, "w") as f:
        for i in range(N_UTT):
            row = {"id": f"utt_{i:05d}", "frames": int(rng.integers(30, 60)), "speaker": f"spk{int(rng.integers(0, 4))}"}
            if i == 431:                       # came with the last delivery, not in the speaker table
                row["speaker"] = "spk17"
            f.write(json.dumps(row) + "\n")


class MelPrefetcher(threading.Thread):
    """Makes padded mel batches ahead of the training."""

    def __init__(self, manifest, speakers, batch=4, depth=6):
        super().__init__(name="mel-prefetch", daemon=True)
        self.rows = [json.loads(x) for x in open(manifest)]
        self.speakers = speakers
        self.batch = batch
        self.q = queue.Queue(maxsize=depth)

    def run(self):
        rng = np.random.default_rng(0)
        while True:
            for k in range(0, len(self.rows), self.batch):
                part = self.rows[k:k + self.batch]
                top = max(r["frames"] for r in part)
                mel = np.zeros((len(part), top, 20), dtype=np.float32)
                for j, r in enumerate(part):
                    mel[j, :r["frames"]] = rng.normal(size=(r["frames"], 20))
                spk = np.array([self.speakers[r["speaker"]] for r in part])
                time.sleep(0.1)
                self.q.put((torch.from_numpy(mel), torch.from_numpy(spk)))

    def __iter__(self):
        while True:
            yield self.q.get()


class Acoustic(nn.Module):
    def __init__(self):
        super().__init__()
        self.spk = nn.Embedding(4, 16)
        self.rnn = nn.GRU(36, 48, batch_first=True)
        self.out = nn.Linear(48, 20)

    def forward(self, mel, spk):
        s = self.spk(spk)[:, None].expand(-1, mel.shape[1], -1)
        h, _ = self.rnn(torch.cat([mel, s], -1))
        return self.out(h)


def main():
    torch.manual_seed(0)
    make_manifest("manifest.jsonl")
    pre = MelPrefetcher("manifest.jsonl", {f"spk{i}": i for i in range(4)})
    pre.start()
    net = Acoustic()
    opt = torch.optim.Adam(net.parameters(), lr=2e-3)
    log.info("manifest: %d utterances, prefetch depth %d, %d parameters", N_UTT, 6, sum(p.numel() for p in net.parameters()))
    for it, (mel, spk) in enumerate(pre, 1):
        loss = (net(mel, spk) - mel).abs().mean()
        opt.zero_grad()
        loss.backward()
        gn = nn.utils.clip_grad_norm_(net.parameters(), 1.0)
        opt.step()
        time.sleep(0.25)
        if it % 5 == 0:
            log.info(json.dumps({"iter": it, "l1": round(loss.item(), 4), "grad_norm": round(gn.item(), 3), "queue": pre.q.qsize()}))
        if it % 100 == 0:
            torch.save(net.state_dict(), "acoustic.pt")
            log.info("wrote acoustic.pt at iter %d", it)
        if it == 600:
            break


if __name__ == "__main__":
    main()
