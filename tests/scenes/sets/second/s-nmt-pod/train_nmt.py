import os
os.environ.setdefault("OMP_NUM_THREADS", "1")
import time
import torch
from accelerate import Accelerator
from accelerate.utils import set_seed
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

torch.set_num_threads(1)


def evaluate(model, step):
    import sacrebleu                  # only needed here, and slow to import
    hyp = ["der hund", "die katze"]
    return sacrebleu.corpus_bleu(hyp, [hyp]).score


def main():
    set_seed(17)
    acc = Accelerator(cpu=True, gradient_accumulation_steps=2)
    src = torch.randint(0, 90, (3000, 10))
    model = nn.Sequential(nn.Embedding(90, 32), nn.Linear(32, 64), nn.ReLU(), nn.Linear(64, 90))
    opt = torch.optim.Adam(model.parameters(), lr=2e-3)
    model, opt, loader = acc.prepare(model, opt, DataLoader(TensorDataset(src), batch_size=16, shuffle=True))
    step = 0
    for epoch in range(4):
        for (s,) in loader:
            with acc.accumulate(model):
                loss = nn.functional.cross_entropy(model(s).flatten(0, 1), ((s * 7 + 3) % 90).flatten())
                acc.backward(loss)
                opt.step()
                opt.zero_grad()
            step += 1
            time.sleep(0.16)
            if step % 25 == 0:
                acc.print(f"{time.strftime('%H:%M:%S')} ep {epoch} upd {step} xent {loss.item():.3f}", flush=True)
            if step % 150 == 0:
                acc.print("evaluating ...", flush=True)
                acc.print(f"BLEU {evaluate(model, step):.2f}", flush=True)
                acc.save_state("state")


main()
