import random

import torch
from torch.utils.data import IterableDataset

VOCAB = 300


class Parts(IterableDataset):
    """Every worker reads its own part files (here: generated from the number of the part)."""

    def __init__(self, n_parts, rank, world, rows_per_part=320, seq=32):
        self.mine = list(range(n_parts))[rank::world]
        self.rows, self.seq = rows_per_part, seq

    def __iter__(self):
        for part in self.mine:
            rnd = random.Random(part)
            for _ in range(self.rows):
                start, stride = rnd.randrange(VOCAB), rnd.choice([1, 2, 3, 5])
                ids = torch.tensor([(start + k * stride) % VOCAB for k in range(self.seq)])
                yield {"input_ids": ids, "labels": ids}
