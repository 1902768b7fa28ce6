"""Scans to arrays, four processes which are renewed every 20 scans (the old reader leaks)."""
import gzip
import logging
import multiprocessing as mp
import pathlib
import pickle
import time
import traceback

import numpy as np
from tqdm import tqdm

OUT = pathlib.Path("arrays")


def one(path):
    try:
        with gzip.open(path) as f:
            a = pickle.load(f)
        time.sleep(0.9)
        np.save(OUT / f"{path.stem}.npy", a / 255.0)
        return path.name, None
    except (EOFError, OSError, pickle.UnpicklingError):
        return path.name, traceback.format_exc()


if __name__ == "__main__":
    logging.basicConfig(filename="prep.log", level=logging.INFO, format="%(asctime)s - %(levelname)s - %(message)s")
    OUT.mkdir(exist_ok=True)
    files = sorted(pathlib.Path("scans").glob("*.gz"))
    logging.info("%d scans, 4 processes, at most 5 %% may be unreadable", len(files))
    bad = []
    with mp.get_context("fork").Pool(4, maxtasksperchild=20) as pool:
        for n, (name, err) in enumerate(tqdm(pool.imap_unordered(one, files), total=len(files), ncols=70), 1):
            if err:
                bad.append(name)
                logging.warning("skipped %s (unreadable, %d so far, %.1f %%)\n%s", name, len(bad), 100 * len(bad) / len(files), err)
            if n % 12 == 0:
                logging.info("%d/%d done, %d skipped", n, len(files), len(bad))
    if len(bad) > 0.05 * len(files):
        raise SystemExit("too many unreadable scans")
    pathlib.Path("skipped.txt").write_text("\n".join(bad))
    logging.info("finished: %d arrays, %d skipped, list in skipped.txt", len(files) - len(bad), len(bad))
