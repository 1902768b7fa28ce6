from pathlib import Path

import numpy as np
import torch
from PIL import Image
from torch.utils.data import Dataset


class Chest(Dataset):
    def __init__(self, root, split):
        lines = (Path(root) / f"{split}.csv").read_text().split()[1:]
        self.rows = [line.split(",") for line in lines]
        self.root = Path(root)

    def __len__(self):
        return len(self.rows)

    def __getitem__(self, i):
        name, label = self.rows[i]
        img = Image.open(self.root / "img" / name).convert("L")
        x = torch.from_numpy(np.asarray(img, dtype=np.float32) / 255.0)[None]
        return x, int(label)
