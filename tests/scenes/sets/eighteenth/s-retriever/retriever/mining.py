"""Hard negatives: built by rank 0, read by everybody."""
import pathlib
import time

import numpy as np

FOLDER = pathlib.Path("negatives")


def path_for(seen):
    return FOLDER / f"neg_{seen // 240:04d}.npy"


def write(seen, docs, queries):
    FOLDER.mkdir(exist_ok=True)
    scores = queries @ docs.T
    tmp = FOLDER / "tmp.npy"
    np.save(tmp, np.argsort(-scores, axis=1)[:, 1:9])
    tmp.rename(path_for(seen))


def read(seen, poll=0.5):
    target = path_for(seen)
    while not target.exists():
        time.sleep(poll)
    return np.load(target)
