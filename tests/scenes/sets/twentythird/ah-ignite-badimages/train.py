"""Product photos, pytorch-ignite; unreadable files are logged and replaced by the next one."""
import io
import logging
import time

import numpy as np
import torch
from ignite.engine import Engine, Events
from ignite.handlers import Checkpoint, DiskSaver, EarlyStopping, global_step_from_engine
from PIL import Image
from torch import nn
from torch.utils.data import DataLoader, Dataset

logging.basicConfig(level=logging.INFO, format="%(asctime)s|%(name)s|%(levelname)s| %(message)s")
log = logging.getLogger("photos")
torch.manual_seed(0)
torch.set_num_threads(1)


def photo(i):
    rng = np.random.default_rng(i)
    a = rng.normal(110, 30, (16, 16, 3)) + rng.normal(0, 14, 3)  # each with its own light
    a[:, :, i % 3] += 36
    b = io.BytesIO()
    Image.fromarray(a.clip(0, 255).astype(np.uint8)).save(b, "PNG")
    data = b.getvalue()
    return data[:180] if i % 97 == 5 else data  # some uploads broke off


class Photos(Dataset):
    def __init__(self, lo, hi):
        self.raw = [(photo(i), i % 3, i) for i in range(lo, hi)]
        self.bad = set()

    def __len__(self):
        return len(self.raw)

    def __getitem__(self, k):
        data, y, i = self.raw[k]
        try:
            img = Image.open(io.BytesIO(data)).convert("RGB")
        except OSError:
            if i not in self.bad:
                log.exception("photo %05d.png cannot be read, using the next one", i)
                self.bad.add(i)
            return self[(k + 1) % len(self)]
        return torch.from_numpy(np.asarray(img).copy()).permute(2, 0, 1).float() / 255, y


net = nn.Sequential(nn.Conv2d(3, 8, 3, stride=2), nn.ReLU(), nn.Conv2d(8, 8, 3), nn.ReLU(), nn.AdaptiveAvgPool2d(1),
                    nn.Flatten(), nn.Linear(8, 3))
opt = torch.optim.Adam(net.parameters(), lr=3e-3)
train, val = DataLoader(Photos(0, 640), 32, shuffle=True), DataLoader(Photos(640, 800), 32)
hist = []


def step(e, b):
    loss = nn.functional.cross_entropy(net(b[0]), b[1])
    opt.zero_grad()
    loss.backward()
    opt.step()
    time.sleep(0.28)
    return loss.item()


def check(e, b):
    with torch.no_grad():
        out = net(b[0])
    hist.append((nn.functional.cross_entropy(out, b[1]).item(), (out.argmax(1) == b[1]).float().mean().item()))
    return None


tr, ev = Engine(step), Engine(check)


@tr.on(Events.ITERATION_COMPLETED(every=5))
def say(e):
    log.info("epoch %d/40 iteration %d loss %.4f", e.state.epoch, e.state.iteration, e.state.output)


@tr.on(Events.EPOCH_COMPLETED)
def val_run(e):
    hist.clear()
    ev.run(val)
    log.info("validation loss %.4f acc %.4f", *np.mean(hist, 0))


ev.add_event_handler(Events.COMPLETED, EarlyStopping(4, lambda e: -float(np.mean(hist, 0)[0]), tr, min_delta=0.002))
tr.add_event_handler(Events.EPOCH_COMPLETED(every=3), Checkpoint(
    {"net": net}, DiskSaver("models", require_empty=False), n_saved=2, global_step_transform=global_step_from_engine(tr)))
log.info("training, at most 40 epochs, early stopping after 4 without a lower validation loss")
tr.run(train, max_epochs=40)
log.info("stopped at epoch %d, %d unreadable photos skipped", tr.state.epoch, len(train.dataset.bad))
torch.save(net.state_dict(), "models/final.pt")
