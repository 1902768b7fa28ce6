"""Writes checkpoints from a thread of its own, so that the step does not wait for the network volume."""
import logging
import os
import queue
import threading

import torch

log = logging.getLogger("saver")


class Saver:
    def __init__(self, folder, keep=3):
        self.folder, self.keep, self.q = folder, keep, queue.Queue()
        threading.Thread(target=self._loop, daemon=True).start()

    def put(self, step, state):
        self.q.put((step, state))

    def write(self, step, state):
        tmp = os.path.join(self.folder, ".incoming")
        torch.save(state, open(tmp, "wb"))
        os.replace(tmp, os.path.join(self.folder, f"mlm-{step:06d}.pt"))
        old = sorted(f for f in os.listdir(self.folder) if f.startswith("mlm-"))[:-self.keep]
        for f in old:
            os.remove(os.path.join(self.folder, f))

    def _loop(self):
        while True:
            step, state = self.q.get()
            try:
                self.write(step, state)
                log.info("checkpoint for step %d is on %s", step, self.folder)
            except Exception as e:
                log.warning("checkpoint for step %d not written (%s), next one in due course", step, e)
