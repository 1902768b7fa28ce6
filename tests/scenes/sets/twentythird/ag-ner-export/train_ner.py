import os
import time

import torch
import torch.nn as nn
import torch.nn.functional as F

from ner_data import TAGS, V, batch, f1


class Tagger(nn.Module):
    def __init__(self, n, d=64):
        super().__init__()
        self.emb = nn.Embedding(V, d)
        self.rnn = nn.LSTM(d, d, batch_first=True, bidirectional=True)
        self.out = nn.Linear(2 * d, n)

    def forward(self, x):
        return self.out(self.rnn(self.emb(x))[0])


def main():
    torch.manual_seed(0)
    g = torch.Generator().manual_seed(1)
    os.makedirs("model", exist_ok=True)
    net = Tagger(len(TAGS))
    opt = torch.optim.Adam(net.parameters(), 5e-3)
    dev_x, dev_y = batch(64, torch.Generator().manual_seed(99))
    gold = [TAGS[i] for i in dev_y.flatten()]
    for epoch in range(1, 7):
        for i in range(1, 31):
            x, y = batch(16, g)
            loss = F.cross_entropy(net(x).flatten(0, 1), y.flatten())
            opt.zero_grad()
            loss.backward()
            opt.step()
            time.sleep(0.25)
            if i % 10 == 0:
                print(f"epoch {epoch}/6 batch {i}/30 loss {loss.item():.4f}")
        with torch.no_grad():
            pred = [TAGS[i] for i in net(dev_x).argmax(-1).flatten()]
        print(f"epoch {epoch}/6 dev_f1 {f1(pred, gold):.4f}")
        torch.save(net.state_dict(), f"model/epoch{epoch}.pt")
    print("training finished")


if __name__ == "__main__":
    main()
