import logging
import socket
import struct
import time

import numpy as np
import torch
from torch import nn

torch.set_num_threads(1)
logging.basicConfig(level=logging.INFO, format="%(asctime)s %(levelname)s %(message)s")
log = logging.getLogger()


class Features:
    def __init__(self):
        self.connect()

    def connect(self):
        self.socket = socket.socket(socket.AF_UNIX)
        self.socket.settimeout(30)
        self.socket.connect("features.sock")
        self.file = self.socket.makefile("rb")

    def get(self, n):
        for _ in range(5):
            try:
                self.socket.sendall(struct.pack("<I", n))
                data = self.file.read(32 * 12 * 4)
                if len(data) == 32 * 12 * 4:
                    return torch.from_numpy(np.frombuffer(data, "<f4").reshape(32, 12).copy())
                raise ConnectionResetError("connection closed by peer")
            except OSError as error:
                log.warning("feature server: %r, reconnecting", error)
                self.socket.close()
                self.connect()
        raise RuntimeError("feature server unreachable")


torch.manual_seed(0)
features = Features()
net = nn.Sequential(nn.Linear(12, 48), nn.ReLU(), nn.Linear(48, 1))
w = torch.randn(12, 1)
opt = torch.optim.Adam(net.parameters(), 5e-3)
for step in range(1, 301):
    x = features.get(step)
    loss = nn.functional.mse_loss(net(x), torch.relu(x @ w))
    opt.zero_grad()
    loss.backward()
    opt.step()
    time.sleep(0.15)
    if step % 10 == 0:
        log.info("step=%d/300 loss=%.5f", step, loss.item())
torch.save(net.state_dict(), "net.pt")
log.info("training finished, saved net.pt")
