"""Tiny GPT pretraining on token shards (uint16), resumes from the last checkpoint."""
import argparse
import glob
import os
import time

import numpy as np
import torch
import torch.nn as nn

VOCAB, CTX, BATCH, TOTAL = 2048, 32, 4, 2000


class TinyLM(nn.Module):
    def __init__(self, d=48):
        super().__init__()
        self.tok = nn.Embedding(VOCAB, d)
        self.pos = nn.Embedding(CTX, d)
        self.block = nn.TransformerEncoderLayer(d, 4, 96, batch_first=True, dropout=0.0)
        self.head = nn.Linear(d, VOCAB)

    def forward(self, x):
        m = nn.Transformer.generate_square_subsequent_mask(x.shape[1])
        h = self.block(self.tok(x) + self.pos(torch.arange(x.shape[1])), src_mask=m, is_causal=True)
        return self.head(h)


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--resume", action="store_true")
    args = ap.parse_args()
    torch.manual_seed(0)
    torch.set_num_threads(1)
    data = np.concatenate([np.fromfile(f, dtype=np.uint16) for f in sorted(glob.glob("shards/*.bin"))])
    model = TinyLM()
    opt = torch.optim.AdamW(model.parameters(), lr=1e-3)
    step = 0
    os.makedirs("ckpt", exist_ok=True)
    if args.resume and os.path.exists("ckpt/last.pt"):
        s = torch.load("ckpt/last.pt")
        model.load_state_dict(s["model"])
        opt.load_state_dict(s["opt"])
        step = s["step"]
        print(f"resumed from ckpt/last.pt at step {step}")
    print(f"{len(data)} tokens, training to step {TOTAL}")
    while step < TOTAL:
        at = (step * BATCH * (CTX + 1)) % (len(data) - BATCH * (CTX + 1))
        ids = torch.from_numpy(data[at:at + BATCH * (CTX + 1)].astype(np.int64)).view(BATCH, CTX + 1)
        logits = model(ids[:, :-1])
        loss = nn.functional.cross_entropy(logits.reshape(-1, VOCAB), ids[:, 1:].reshape(-1))
        opt.zero_grad()
        loss.backward()
        opt.step()
        step += 1
        time.sleep(0.25)
        if step % 10 == 0:
            print(f"step {step}/{TOTAL} loss {loss.item():.3f}")
        if step % 50 == 0:
            torch.save({"model": model.state_dict(), "opt": opt.state_dict(), "step": step}, "ckpt/tmp.pt")
            os.replace("ckpt/tmp.pt", "ckpt/last.pt")
            print(f"checkpoint at step {step}")


if __name__ == "__main__":
    main()
