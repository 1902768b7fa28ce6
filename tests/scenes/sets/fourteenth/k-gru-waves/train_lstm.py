#!/usr/bin/env python3
import time
import torch
import torch.nn as nn

torch.manual_seed(0)
print("hello, torch", torch.__version__)
T = torch.arange(0, 6000) * .05
series = torch.sin(T) + .5 * torch.sin(3.1 * T) + .1 * torch.randn(6000)


class Forecaster(nn.Module):
    def __init__(self):
        super().__init__()
        self.rnn = nn.GRU(1, 64, batch_first=True)
        self.out = nn.Linear(64, 1)

    def forward(self, x):
        return self.out(self.rnn(x)[0])


net = Forecaster()
opt = torch.optim.Adam(net.parameters(), 2e-3)
crit = nn.MSELoss()
all_losses = []          # for the plot at the end
EPOCHS, PER = 30, 40
for ep in range(EPOCHS):
    for it in range(PER):
        at = torch.randint(0, 5900, (8,))
        w = torch.stack([series[a:a + 61] for a in at])[..., None]
        loss = crit(net(w[:, :-1]), w[:, 1:])
        opt.zero_grad()
        loss.backward(retain_graph=True)
        opt.step()
        all_losses.append(loss)
        time.sleep(.15)
        if it % 8 == 0:
            print("ep", ep, "it", it, "loss", round(loss.item(), 5))
    print("== epoch", ep, "mean", (sum(all_losses[-PER:]) / PER).item())
    torch.save(net.state_dict(), "gru.pt")

import matplotlib; matplotlib.use("Agg")
import matplotlib.pyplot as plt
plt.plot([l.item() for l in all_losses]); plt.savefig("loss.png")
