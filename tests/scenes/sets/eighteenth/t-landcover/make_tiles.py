from pathlib import Path

import numpy as np
from PIL import Image

rng = np.random.default_rng(5)
out = Path("tiles")
out.mkdir(exist_ok=True)
rows = []
for n in range(160):
    cls = n % 4
    base = np.array([[40, 90, 40], [150, 140, 90], [30, 60, 130], [120, 120, 125]][cls])
    img = np.clip(base + rng.normal(0, 38, (48, 48, 3)), 0, 255).astype("uint8")
    Image.fromarray(img).save(out / f"T32UNE_{n:04d}.png")
    rows.append(f"T32UNE_{n:04d}.png,{cls}")
Path("labels.csv").write_text("\n".join(rows) + "\n")
