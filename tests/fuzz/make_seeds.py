"""Write the checkpoints with which the search begins, by the libraries themselves: small ones of each kind.

``python -m tests.fuzz.make_seeds`` with torch, safetensors and h5py; the files are kept in ``seeds/``.
"""

from __future__ import annotations

import shutil
import tempfile
import warnings
import zipfile
from pathlib import Path

import h5py
import numpy as np
import safetensors.torch
import torch
import torch.distributed.checkpoint as dcp

SEEDS = Path(__file__).parent / "seeds" / "checkpoint"


def main() -> None:
    """Replace them all."""
    SEEDS.mkdir(parents=True, exist_ok=True)
    model = torch.nn.Linear(3, 2)
    optimizer = torch.optim.AdamW(model.parameters())
    model(torch.ones(1, 3)).sum().backward()
    optimizer.step()
    weights = model.state_dict()
    state = {"model": weights, "optimizer": optimizer.state_dict(), "iter_num": 7}
    torch.save(state, SEEDS / "step_1.pt")
    flat = {"w": torch.ones(2)}
    torch.save(flat, SEEDS / "legacy.pt", _use_new_zipfile_serialization=False)
    lightning = {"epoch": 3, "global_step": 40, "pytorch-lightning_version": "2.5"}
    torch.save({**lightning, "state_dict": weights}, SEEDS / "a.ckpt")
    tensors = {"w": torch.ones(4, 4), "e": torch.zeros(0), "h": torch.ones(3, dtype=torch.bfloat16)}
    safetensors.torch.save_file(tensors, SEEDS / "model.safetensors", metadata={"format": "pt"})
    np.save(SEEDS / "m.npy", np.ones((3, 3)))
    np.savez(SEEDS / "m.npz", a=np.ones(3), b=np.arange(4))
    with h5py.File(SEEDS / "weights.h5", "w") as file:
        file.create_dataset("w", data=np.ones((4, 4), "f4"))
        chunked = np.arange(64.0)
        file.create_group("g").create_dataset("c", data=chunked, chunks=(8,), compression="gzip")
        file.attrs["x"] = "y"
    with h5py.File(SEEDS / "late.h5", "w", libver="latest") as file:
        file.create_dataset("w", data=np.ones((4, 4), "f4"))
        file.create_group("g").create_dataset("c", data=np.arange(64.0), chunks=(8,))
    with zipfile.ZipFile(SEEDS / "m.keras", "w") as archive:
        archive.writestr("metadata.json", '{"keras_version":"3"}')
        archive.writestr("config.json", "{}")
        archive.write(SEEDS / "late.h5", "model.weights.h5")
    _distributed({"model": weights, "n": 5})


def _distributed(state: dict[str, object]) -> None:
    with tempfile.TemporaryDirectory() as made, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        dcp.save(state, storage_writer=dcp.FileSystemWriter(made, single_file_per_rank=True))
        for file in Path(made).iterdir():
            shutil.copy(file, SEEDS / file.name)


if __name__ == "__main__":
    main()
