import logging
import socket
import struct
import time
import numpy as np
import torch
from torch import nn

torch.set_num_threads(1)
logging.basicConfig(level=logging.INFO, format="%(asctime)s | %(levelname)-7s | %(name)s | %(message)s")
log = logging.getLogger("trainer")


def exactly(s, n):
    data = b""
    while len(data) < n:
        part = s.recv(n - len(data))
        if not part:
            raise ConnectionError("data server closed the connection")
        data += part
    return data


def next_batch(s):
    s.sendall(b".")
    (n,) = struct.unpack("<I", exactly(s, 4))
    rows = torch.from_numpy(np.frombuffer(exactly(s, n), dtype="<f4").reshape(-1, 17).copy())
    return rows[:, :16], rows[:, 16]


server = socket.socket(socket.AF_UNIX)
server.connect("data.sock")
log.info("connected to data server at data.sock")
torch.manual_seed(1)
model = nn.Sequential(nn.Linear(16, 64), nn.ReLU(), nn.Linear(64, 1))
opt = torch.optim.Adam(model.parameters(), lr=3e-3)
STEPS, began = 400, time.time()
for step in range(1, STEPS + 1):
    x, y = next_batch(server)
    loss = nn.functional.mse_loss(model(x).squeeze(1), y)
    opt.zero_grad()
    loss.backward()
    opt.step()
    time.sleep(0.45)
    if step % 2 == 0:
        log.info("step %d/%d loss %.4f samples/s %.1f", step, STEPS, loss.item(), step * 32 / (time.time() - began))
    if step % 25 == 0:
        torch.save(model.state_dict(), f"ckpt/step{step:05d}.pt")
        log.info("saved ckpt/step%05d.pt", step)
log.info("training finished")
