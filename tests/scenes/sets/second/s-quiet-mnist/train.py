import os
os.environ.setdefault("OMP_NUM_THREADS", "1")
import time
import torch
from torch import nn

torch.set_num_threads(1)
torch.manual_seed(99)
net = nn.Sequential(nn.Conv2d(1, 8, 3), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten(), nn.Linear(8 * 13 * 13, 10))
opt = torch.optim.Adadelta(net.parameters(), lr=1.0)
proto = torch.randn(10, 1, 28, 28)
for epoch in range(1, 4):
    for i in range(300):
        y = torch.randint(0, 10, (16,))
        x = proto[y] + torch.randn(16, 1, 28, 28)
        opt.zero_grad()
        loss = nn.functional.cross_entropy(net(x), y)
        loss.backward()
        opt.step()
        time.sleep(0.13)
        if i % 4 == 0:
            print("Train Epoch: {} [{}/{} ({:.0f}%)]\tLoss: {:.6f}".format(epoch, i * 16, 4800, 100.0 * i / 300, loss.item()))
    torch.save(net.state_dict(), "mnist_cnn.pt")
