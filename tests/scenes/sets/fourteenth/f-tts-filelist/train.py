# -*- coding: utf-8 -*-
# дообучение голоса, взял скрипт из чата и немного поправил
import random
import time
import numpy as np
import torch
from torch import nn
from prepare import prepare

torch.manual_seed(0)
random.seed(0)
files = prepare()
print(f"Найдено файлов: {len(files)}")

model = nn.Sequential(nn.Linear(24, 64), nn.Tanh(), nn.Linear(64, 8))
opt = torch.optim.Adam(model.parameters(), lr=2e-3)
print("Параметров в модели:", sum(p.numel() for p in model.parameters()))

EPOCHS, BATCH = 12, 8
for epoch in range(1, EPOCHS + 1):
    random.shuffle(files)
    start, total, done = time.time(), 0.0, 0
    for b in range(0, len(files), BATCH):
        n = b // BATCH + 1
        try:
            parts = [np.load(f) for f in files[b:b + BATCH]]
            x = torch.from_numpy(np.concatenate([p["x"] for p in parts]))
            y = torch.from_numpy(np.concatenate([p["y"] for p in parts]).astype("float32"))
            loss = nn.functional.l1_loss(model(x), y)
            opt.zero_grad()
            loss.backward()
            opt.step()
            total += loss.item()
            done += 1
            time.sleep(0.2)
            if n % 8 == 0:
                print(f"эпоха {epoch} батч {n}/{len(files) // BATCH} потери {loss.item():.4f}")
        except Exception as e:
            # иногда попадаются битые файлы
            print(f"эпоха {epoch} батч {n} пропущен: {e}")
            time.sleep(0.2)
    print(f"== эпоха {epoch} закончена за {time.time() - start:.1f} с, средние потери {total / max(done, 1):.4f}")
    torch.save(model.state_dict(), "voice.pth")
print("Обучение завершено, модель в voice.pth")
