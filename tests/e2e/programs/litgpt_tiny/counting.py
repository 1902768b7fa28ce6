"""Data for ``litgpt pretrain``: numbers that follow each other. Named in pretrain.yaml."""

from __future__ import annotations

import time
from dataclasses import dataclass, field

import torch
from litgpt.data import DataModule
from litgpt.tokenizer import Tokenizer

VOCABULARY = 64


class _Numbers(torch.utils.data.Dataset[torch.Tensor]):
    def __init__(self, length: int, pause: float) -> None:
        self.length, self.pause = length, pause

    def __len__(self) -> int:
        return 64

    def __getitem__(self, at: int) -> torch.Tensor:
        time.sleep(self.pause)
        return (torch.arange(self.length) + at) % VOCABULARY


@dataclass
class Counting(DataModule):
    """The same 64 rows for training and validation."""

    pause: float = 0.03
    """Seconds that a row of the training takes longer than it has to."""
    batch_size: int = field(default=1, init=False, repr=False)
    length: int = field(default=-1, init=False, repr=False)

    def __post_init__(self) -> None:
        super().__init__()

    def connect(
        self, tokenizer: Tokenizer | None = None, batch_size: int = 1, max_seq_length: int = -1
    ) -> None:
        self.batch_size, self.length = batch_size, max_seq_length + 1

    def train_dataloader(self) -> torch.utils.data.DataLoader[torch.Tensor]:
        rows = _Numbers(self.length, self.pause)
        return torch.utils.data.DataLoader(rows, batch_size=self.batch_size)

    def val_dataloader(self) -> torch.utils.data.DataLoader[torch.Tensor]:
        return torch.utils.data.DataLoader(_Numbers(self.length, 0.0), batch_size=self.batch_size)
