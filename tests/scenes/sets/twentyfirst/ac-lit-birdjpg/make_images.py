"""Writes a small JPEG set; as in every crawl a few files came down incomplete."""
import io
import os

import numpy as np
from PIL import Image

os.makedirs("jpg", exist_ok=True)
rng = np.random.default_rng(0)
yy, xx = np.mgrid[:24, :24]
for k in range(400):
    c = k % 4
    im = 128 + 16 * np.sin((c + 1) * (yy if c % 2 else xx) / 3)[..., None] + rng.normal(0, 60, (24, 24, 3))
    buf = io.BytesIO()
    Image.fromarray(im.clip(0, 255).astype(np.uint8)).save(buf, "JPEG", quality=85)
    data = buf.getvalue()
    if k in (77, 203, 318):
        data = data[:len(data) * 2 // 3]
    with open(f"jpg/{k:04d}_{c}.jpg", "wb") as f:
        f.write(data)
print("400 images")
