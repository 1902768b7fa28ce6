"""Merkmale berechnen, zwischenspeichern, inkrementell trainieren."""
import argparse
import logging
import pathlib
import time

import numpy as np
from sklearn.linear_model import SGDClassifier

logging.basicConfig(format="%(asctime)s %(levelname)s %(message)s", datefmt="%d.%m. %H:%M:%S", level=logging.INFO)


def spectrum(clip: int) -> tuple[np.ndarray, int]:
    rng = np.random.default_rng(clip)
    label = clip % 3
    t = np.arange(1024) / 8000
    wave = np.sin(2 * np.pi * (300 + 250 * label) * t) + rng.normal(scale=1.5, size=t.size)
    return np.log1p(np.abs(np.fft.rfft(wave))).astype(np.float32), label


def features(cache: pathlib.Path, clip: int) -> tuple[np.ndarray, int]:
    path = cache / f"{clip % 16:02x}" / f"{clip:06d}.npy"
    label = clip % 3
    if path.exists():
        return np.load(path), label
    value, label = spectrum(clip)
    path.parent.mkdir(exist_ok=True)
    np.save(path, value)
    return value, label


def main() -> None:
    p = argparse.ArgumentParser()
    p.add_argument("--cache", type=pathlib.Path)
    p.add_argument("--clips", type=int)
    p.add_argument("--batch", type=int, default=50)
    a = p.parse_args()
    model = SGDClassifier(loss="log_loss", alpha=1e-3, random_state=0)
    order = np.random.default_rng(1).permutation(a.clips)
    for n, start in enumerate(range(0, a.clips, a.batch), 1):
        pairs = [features(a.cache, int(c)) for c in order[start : start + a.batch]]
        x, y = np.stack([v for v, _ in pairs]), np.array([k for _, k in pairs])
        if n > 1:
            acc = model.score(x, y)
            proba = model.predict_proba(x)[np.arange(len(y)), y].clip(1e-7)
            logging.info("Batch %3d/%d  Verlust %.4f  Genauigkeit %.3f", n, a.clips // a.batch, -np.log(proba).mean(), acc)
        model.partial_fit(x, y, classes=[0, 1, 2])
        time.sleep(1.1)


if __name__ == "__main__":
    main()
