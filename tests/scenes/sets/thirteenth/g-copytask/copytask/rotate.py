from pathlib import Path
import os
import torch


class Rotation:
    def __init__(self, folder, keep):
        self.folder, self.keep = Path(folder), keep
        self.folder.mkdir(exist_ok=True)

    def save(self, step, **what):
        path = self.folder / f"step-{step:06d}.pt"
        torch.save(what, path.with_suffix(".tmp"))
        os.replace(path.with_suffix(".tmp"), path)
        gone = sorted(self.folder.glob("step-*.pt"))[: -self.keep]
        for old in gone:
            old.unlink()
        return path.name, [old.name for old in gone]
