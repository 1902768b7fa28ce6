import os
import signal
import time

import torch
from tqdm import tqdm

EOS, VOCAB = 0, 32                           # tokens 1..31 are notes, 0 ends a melody


class NextNote(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.table = torch.nn.Embedding(VOCAB, VOCAB)
        torch.nn.init.normal_(self.table.weight, std=0.02)

    def forward(self, ids):
        return self.table(ids)


def melody(g):
    first = int(torch.randint(1, 17, (1,), generator=g))
    return list(range(first, 32))


def stage1(g):
    """one melody a row, with its end token"""
    seq = melody(g) + [EOS]
    return seq[:-1], seq[1:]


def stage2(g):
    """packed rows: four melodies after each other"""
    seq = melody(g) + melody(g) + melody(g) + melody(g)
    return seq[:-1], seq[1:]


def generate(model, prompt):
    ids = [prompt]
    while True:
        logits = model(torch.tensor(ids[-1:]))[0]
        nxt = int(logits.argmax())
        time.sleep(0.008)
        if nxt == EOS:
            return ids
        ids.append(nxt)


def evaluate(model, step):
    tqdm.write(f"[eval] step {step}: generating 12 samples")
    lengths = []
    with torch.no_grad():
        for prompt in tqdm(range(8, 20), desc="Generating", leave=False):
            lengths.append(len(generate(model, prompt)))
    tqdm.write(f"[eval] step {step}: mean length {sum(lengths) / len(lengths):.1f}")


def main():
    signal.alarm(300)                        # a test box: never stay longer than five minutes
    torch.manual_seed(1)
    torch.set_num_threads(1)
    g = torch.Generator().manual_seed(8)
    os.makedirs("ckpt", exist_ok=True)
    model = NextNote()
    opt = torch.optim.SGD(model.parameters(), lr=0.5)
    bar = tqdm(range(1, 2001), desc="Training")
    for step in bar:
        maker = stage1 if step <= 100 else stage2
        if step == 101:
            tqdm.write("stage 2: packed sequences")
        total, count = 0.0, 0
        for _ in range(16):
            src, dst = maker(g)
            total = total + torch.nn.functional.cross_entropy(model(torch.tensor(src)), torch.tensor(dst), reduction="sum")
            count += len(src)
        loss = total / 16
        opt.zero_grad()
        loss.backward()
        opt.step()
        time.sleep(0.12)
        bar.set_postfix(loss=f"{total.item() / count:.4f}")
        if step % 100 == 0:
            evaluate(model, step)
            torch.save(model.state_dict(), f"ckpt/notes_{step:05d}.pt")


if __name__ == "__main__":
    main()
