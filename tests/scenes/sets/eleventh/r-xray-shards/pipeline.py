from pathlib import Path

import numpy as np
import torch
from torch.utils.data import IterableDataset, get_worker_info


class Shards(IterableDataset):
    """Streams (image, label) from the exported shards; every worker reads each n-th of them."""

    def __init__(self, root: str):
        self.paths = sorted(Path(root).glob("xr_*.npz"))

    def __iter__(self):
        info = get_worker_info()
        n, k = (info.num_workers, info.id) if info else (1, 0)
        for path in self.paths[k::n]:
            with np.load(path) as z:
                images, labels = z["img"], z["y"]
            for a, y in zip(images, labels):
                yield torch.from_numpy(a).float().div(255).unsqueeze(0), int(y)
