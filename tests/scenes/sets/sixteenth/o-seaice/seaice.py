"""Sea ice concentration from passive microwave, streamed from the store."""
import logging
import sys
import time
import urllib.error
import urllib.request

import numpy as np
import torch
from torch import nn

logging.basicConfig(stream=sys.stdout, level=logging.INFO, format="%(levelname).1s %(asctime)s %(module)s: %(message)s", datefmt="%m%d %H:%M:%S")
BASE = f"http://127.0.0.1:{sys.argv[1]}"


def fetch(k):
    url = f"{BASE}/amsr2/swath/{k:06d}.bin"
    for attempt in range(1, 30):
        try:
            with urllib.request.urlopen(url, timeout=30) as answer:
                return np.frombuffer(answer.read(), "float32").reshape(4, 32, 32)
        except urllib.error.HTTPError as error:
            pause = float(error.headers.get("Retry-After", 1))
            logging.warning("GET %s: HTTP Error %d: %s, retry %d in %.0f s", url, error.code, error.reason, attempt, pause)
            time.sleep(pause)
        except urllib.error.URLError:
            time.sleep(0.5)
    raise RuntimeError(f"gave up on {url}")


torch.manual_seed(0)
torch.set_num_threads(1)
net = nn.Sequential(nn.Conv2d(4, 8, 3, padding=1), nn.ReLU(), nn.Conv2d(8, 1, 3, padding=1))
opt = torch.optim.Adam(net.parameters(), lr=2e-3)
clock = time.monotonic()
for step in range(1, 601):
    x = torch.from_numpy(np.stack([fetch(2 * step + k) for k in range(2)]))
    y = (x[:, :1] + 0.5 * x[:, 2:3]).sigmoid()
    loss = nn.functional.mse_loss(net(x), y)
    opt.zero_grad()
    loss.backward()
    opt.step()
    time.sleep(0.2)
    if step % 5 == 0 or time.monotonic() - clock > 15:
        now = time.monotonic()
        logging.info("step %d/600 loss %.5f data+step %.1f s since last line", step, loss.item(), now - clock)
        clock = now
logging.info("finished")
