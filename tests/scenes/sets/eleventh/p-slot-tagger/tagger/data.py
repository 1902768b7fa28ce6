"""Synthetic slot-filling data: the label of a token depends on it and on its left neighbour."""
import torch
from torch.utils.data import IterableDataset


class Slots(IterableDataset):
    def __init__(self, cfg):
        self.cfg = cfg

    def __iter__(self):
        c = self.cfg
        g = torch.Generator().manual_seed(c["seed"])
        table = torch.randint(c["labels"], (c["vocab"],), generator=g)
        while True:
            ids = torch.randint(c["vocab"], (c["seq"],), generator=g)
            left = torch.roll(ids, 1)
            yield {"input_ids": ids, "labels": (table[ids] + (left % 2)) % c["labels"]}
