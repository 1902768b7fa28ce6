"""Data for ``litgpt pretrain``: numbers that follow each other. Named in pretrain.yaml."""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from typing import Any

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


class _Loader(torch.utils.data.DataLoader[torch.Tensor]):
    """Saved as a state, like the streaming loader of litdata: torch loads no objects."""

    def state_dict(self) -> dict[str, Any]:
        return {"batch_size": self.batch_size}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        if state["batch_size"] != self.batch_size:
            raise ValueError(f"saved with batches of {state['batch_size']}")


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
        return _Loader(rows, batch_size=self.batch_size)

    def val_dataloader(self) -> torch.utils.data.DataLoader[torch.Tensor]:
        return _Loader(_Numbers(self.length, 0.0), batch_size=self.batch_size)
