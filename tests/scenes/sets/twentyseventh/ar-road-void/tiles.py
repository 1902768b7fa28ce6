"""Cuts the drone scenes into tiles. Train tiles come from the cleaned export, val tiles from the raw one."""
import pathlib

import numpy as np

CLASSES = 5


def tile(r, raw):
    mask = np.zeros((40, 40), np.uint8)
    for _ in range(4):
        c = r.integers(1, CLASSES)
        y, x = r.integers(0, 28, 2)
        mask[y:y + r.integers(6, 14), x:x + r.integers(6, 14)] = c
    palette = np.array([[90, 90, 90], [40, 130, 50], [150, 60, 40], [60, 80, 160], [180, 170, 90]])
    image = palette[mask] + r.normal(0, 28, (40, 40, 3))
    if raw:
        mask[:2] = mask[-2:] = 255  # void: the annotators' border
    return image.clip(0, 255).astype(np.uint8), mask


r = np.random.default_rng(11)
for split, n, raw in ("train", 64, False), ("val", 24, True):
    out = pathlib.Path("tiles") / split
    out.mkdir(parents=True, exist_ok=True)
    for i in range(n):
        image, mask = tile(r, raw)
        np.savez(out / f"{i:04d}.npz", image=image, mask=mask)
    print(f"tiles/{split}: {n}")
