"""Write the embedding tables in the background so that the training does not wait."""
import logging
import queue
import threading
from pathlib import Path

import numpy as np

log = logging.getLogger("saver")


class Saver(threading.Thread):
    def __init__(self, root):
        super().__init__(daemon=True)
        self.root, self.jobs = Path(root), queue.Queue(1)
        self.start()

    def submit(self, step, tables):
        self.jobs.put((step, {k: v.copy() for k, v in tables.items()}))

    def run(self):
        while True:
            step, tables = self.jobs.get()
            target = self.root / f"step_{step:06d}"
            try:
                target.mkdir(parents=True, exist_ok=True)
                for name, table in tables.items():
                    np.save(target / f"{name}.npy", table)
                log.info("snapshot %s complete", target)
            except Exception:
                log.exception("snapshot %s", target)
