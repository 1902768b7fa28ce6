import sys
import time

import torch
from features import FeatureCache, clip, log_mel
from torch import nn
from torch.utils.data import DataLoader, Dataset

CACHE = FeatureCache("features.jsonl")


class Clips(Dataset):
    def __len__(self):
        return 240

    def __getitem__(self, k):
        return torch.from_numpy(CACHE.get(k, lambda: log_mel(k))), clip(k)[1]


def info(text):
    sys.stdout.write(f"{time.strftime('%Y-%m-%dT%H:%M:%S')} INFO {text}\n")
    sys.stdout.flush()


model = nn.Sequential(nn.Flatten(), nn.Linear(320, 48), nn.ReLU(), nn.Dropout(0.2), nn.Linear(48, 5))
opt = torch.optim.RMSprop(model.parameters(), 5e-4)
sched = torch.optim.lr_scheduler.ExponentialLR(opt, 0.9)
test = [Clips()[k] for k in range(0, 240, 4)]
info(f"{len(Clips())} clips, {len(test)} of them cached for the test")
for epoch in range(1, 13):
    info(f"epoch {epoch}/12 begins, lr {opt.param_groups[0]['lr']:.2e}")
    loader = DataLoader(Clips(), batch_size=12, shuffle=True, num_workers=2, multiprocessing_context="fork")
    total = 0.0
    for i, (x, y) in enumerate(loader, 1):
        loss = nn.functional.cross_entropy(model(x), y)
        opt.zero_grad()
        loss.backward()
        opt.step()
        total += loss.item()
        time.sleep(0.35)
        if i % 5 == 0:
            info(f"  batch {i}/{len(loader)} loss {total / i:.4f}")
    model.eval()
    with torch.no_grad():
        acc = sum(model(x[None]).argmax().item() == y for x, y in test) / len(test)
    model.train()
    sched.step()
    info(f"epoch {epoch}/12 ends, test accuracy {acc:.3f}")
    if epoch % 4 == 0:
        CACHE.flush_in_background()
        torch.save(model.state_dict(), "spotter.pt")
        info("features and weights go to disk")
info("finished")
