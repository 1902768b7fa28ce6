import time

import torch
from accelerate import Accelerator
from torch import nn
from torch.utils.data import DataLoader, TensorDataset
from tqdm.auto import tqdm

torch.set_num_threads(1)


class Copy(nn.Module):
    def __init__(self, v=30, d=48, n=10):
        super().__init__()
        self.e, self.p = nn.Embedding(v, d), nn.Parameter(torch.randn(n, d) * 0.02)
        self.l = nn.TransformerEncoderLayer(d, 4, 96, batch_first=True, dropout=0.0)
        self.o = nn.Linear(d, v)

    def forward(self, x):
        return self.o(self.l(self.e(x) + self.p))


def main():
    acc = Accelerator(cpu=True, gradient_accumulation_steps=2)
    torch.manual_seed(4)
    x = torch.randint(0, 30, (1200, 10))
    dl = DataLoader(TensorDataset(x, x.flip(1)), batch_size=12, shuffle=True, drop_last=True)
    model = Copy()
    opt = torch.optim.AdamW(model.parameters(), lr=3e-3)
    sched = torch.optim.lr_scheduler.OneCycleLR(opt, 3e-3, total_steps=200)
    model, opt, dl, sched = acc.prepare(model, opt, dl, sched)
    epochs = 3
    bar = tqdm(total=epochs * len(dl), disable=not acc.is_local_main_process, desc="train", mininterval=2)
    for epoch in range(epochs):
        seen, right = 0, 0
        for xb, yb in dl:
            with acc.accumulate(model):
                out = model(xb)
                loss = nn.functional.cross_entropy(out.flatten(0, 1), yb.flatten())
                acc.backward(loss)
                acc.clip_grad_norm_(model.parameters(), 1.0)
                opt.step()
                sched.step()
                opt.zero_grad()
            seen += yb.numel()
            right += (out.argmax(-1) == yb).sum().item()
            time.sleep(0.3)
            bar.update(1)
            bar.set_postfix(loss=f"{loss.item():.3f}")
        a = acc.reduce(torch.tensor([right / seen]), "mean").item()
        acc.print(f"\nepoch {epoch}: token accuracy {a:.3f}")
        acc.save_state(f"ckpt/epoch_{epoch}")
    bar.close()
    acc.end_training()


if __name__ == "__main__":
    main()
