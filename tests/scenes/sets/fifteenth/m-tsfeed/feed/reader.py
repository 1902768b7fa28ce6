import csv, queue, threading
from pathlib import Path
import torch


class Prefetch(threading.Thread):
    """Reads the daily files ahead of the training loop."""

    def __init__(self, folder, depth=4):
        super().__init__(name="prefetch", daemon=True)
        self.files = sorted(Path(folder).glob("*.csv"))
        self.out = queue.Queue(maxsize=depth)

    def run(self):
        for path in self.files:
            with path.open(newline="") as f:
                rows = [[float(r["load"]), float(r["temp"]), float(r["price"])] for r in csv.DictReader(f)]
            self.out.put((path.stem, torch.tensor(rows)))
        self.out.put(None)

    def __iter__(self):
        while (item := self.out.get()) is not None:
            yield item
