# Обучение распознавателя цифр со сканов. Страницы читает отдельный поток.
import glob
import queue
import threading
import time

import numpy as np
import torch
import torch.nn as nn
from PIL import Image

torch.manual_seed(1)
torch.set_num_threads(1)
FILES = sorted(glob.glob("pages/*.png"))
BATCH = 4
q = queue.Queue(maxsize=6)


def reader():
    while True:
        for i in range(0, len(FILES) - BATCH + 1, BATCH):
            names = FILES[i:i + BATCH]
            x = np.stack([np.asarray(Image.open(n).convert("L"), np.float32) / 255 for n in names])
            y = [int(n[-5]) for n in names]
            q.put((torch.from_numpy(x)[:, None], torch.tensor(y)))


threading.Thread(target=reader, daemon=True, name="reader").start()
net = nn.Sequential(nn.Conv2d(1, 8, 3, 2, 1), nn.ReLU(), nn.Conv2d(8, 16, 3, 2, 1), nn.ReLU(), nn.Flatten(), nn.Linear(16 * 64, 10))
opt = torch.optim.Adam(net.parameters(), 3e-3)
print(f"Страниц: {len(FILES)}, пакет {BATCH}, параметров {sum(p.numel() for p in net.parameters())}", flush=True)
mean = None
for step in range(1, 601):
    x, y = q.get()
    loss = nn.functional.cross_entropy(net(x), y)
    opt.zero_grad()
    loss.backward()
    opt.step()
    mean = loss.item() if mean is None else 0.95 * mean + 0.05 * loss.item()
    time.sleep(0.45)
    if step % 2 == 0:
        print(f"шаг {step}/600 | потеря {mean:.4f} | очередь {q.qsize()}", flush=True)
    if step % 40 == 0:
        torch.save({"net": net.state_dict(), "opt": opt.state_dict(), "step": step}, "ocr.pt")
        print(f"шаг {step}: сохранено ocr.pt", flush=True)
print("готово", flush=True)
