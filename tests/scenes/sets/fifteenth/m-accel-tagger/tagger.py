import argparse, os, time
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset
from accelerate import Accelerator
from accelerate.utils import set_seed
from tqdm.auto import tqdm


def data(n=4000):
    x = torch.randint(0, 200, (n, 20))
    return TensorDataset(x, (x % 7 + (x.roll(1, 1) % 2)) % 7)


class Tagger(nn.Module):
    def __init__(self):
        super().__init__()
        self.emb = nn.Embedding(200, 32)
        self.rnn = nn.LSTM(32, 32, batch_first=True, bidirectional=True)
        self.out = nn.Linear(64, 7)

    def forward(self, x):
        return self.out(self.rnn(self.emb(x))[0])


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--epochs", type=int, default=6)
    ap.add_argument("--pidfile", default="tagger.pid")
    a = ap.parse_args()
    with open(a.pidfile, "w") as f:
        f.write(str(os.getpid()))
    acc = Accelerator(cpu=True)
    set_seed(4)
    net = Tagger()
    opt = torch.optim.AdamW(net.parameters(), lr=4e-3)
    net, opt, loader = acc.prepare(net, opt, DataLoader(data(), batch_size=32, shuffle=True))
    for epoch in range(a.epochs):
        bar = tqdm(loader, desc=f"epoch {epoch + 1}/{a.epochs}", mininterval=1)
        for x, y in bar:
            loss = nn.functional.cross_entropy(net(x).flatten(0, 1), y.flatten())
            acc.backward(loss)
            opt.step()
            opt.zero_grad()
            time.sleep(0.2)
            bar.set_postfix(loss=f"{loss.item():.3f}")
        acc.save_state(f"state/e{epoch + 1}")
        acc.print(f"saved state/e{epoch + 1}")


if __name__ == "__main__":
    main()
