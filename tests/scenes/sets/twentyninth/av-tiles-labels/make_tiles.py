"""Cuts the survey into tiles: image (4 bands) and land-cover mask, one .npz per tile."""
import pathlib

import numpy as np

out = pathlib.Path("tiles")
out.mkdir(exist_ok=True)
rng = np.random.default_rng(11)
yy, xx = np.mgrid[0:40, 0:40] / 40.0
palette = rng.uniform(0.1, 0.9, (6, 4))
for n in range(960):
    field = sum(np.sin(2 * np.pi * (rng.uniform(-2, 2) * xx + rng.uniform(-2, 2) * yy) + rng.uniform(0, 6)) for _ in range(3))
    mask = np.digitize(field, [-1.6, -0.8, 0.0, 0.8, 1.6]).astype(np.uint8)
    image = palette[mask].transpose(2, 0, 1) + rng.normal(0, 0.18, (4, 40, 40))
    if n == 617:  # the tile at the edge of the survey: no data in its corner
        mask[30:, 34:] = 255
    np.savez(out / f"tile_{n:05d}.npz", image=image.astype(np.float32), mask=mask)
print("960 tiles written")
