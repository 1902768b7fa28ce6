import io
import logging
import time

import numpy as np
import torch
from PIL import Image
from torch.utils.data import Dataset

log = logging.getLogger("histo.tiles")


class Tiles(Dataset):
    """Tiles out of the archive of the slide scanner; a few never arrived completely."""

    def __init__(self, n=420):
        self.blobs, self.y = [], []
        rng = np.random.default_rng(0)
        for i in range(n):
            y = i % 2
            a = rng.integers(90, 200, (32, 32, 3))
            a[8:20, 8:20, 2] += 40 * y
            b = io.BytesIO()
            Image.fromarray(a.astype("uint8")).save(b, "PNG")
            raw = b.getvalue()
            self.blobs.append(raw[:700] if i in (77, 301) else raw)
            self.y.append(y)

    def __len__(self):
        return len(self.y)

    def __getitem__(self, i):
        for attempt in (1, 2):
            try:
                img = Image.open(io.BytesIO(self.blobs[i])).convert("RGB")
                return torch.from_numpy(np.asarray(img, dtype=np.float32) / 255).permute(2, 0, 1), self.y[i]
            except (OSError, SyntaxError) as error:
                log.warning("tile %d: %s: %s (attempt %d/2)", i, type(error).__name__, error, attempt)
                failure = error
                time.sleep(0.05)
        log.error("tile %d is unreadable, skipped", i, exc_info=failure)
        return None


def collate(items):
    items = [x for x in items if x is not None]
    return torch.stack([x for x, _ in items]), torch.tensor([y for _, y in items])
