"""renders little line images for the OCR toy and 'uploads' them to pages/"""
import os

import numpy as np
from PIL import Image, ImageDraw, ImageFont

rng = np.random.default_rng(2)
os.makedirs("pages", exist_ok=True)
for i in range(700):
    digit = int(rng.integers(0, 10))
    im = Image.fromarray((rng.random((32, 32)) * 40).astype("uint8"))
    ImageDraw.Draw(im).text((9 + rng.integers(-1, 2), 4 + rng.integers(-1, 2)), str(digit), fill=230, font=ImageFont.load_default(22))
    name = f"pages/{i:04d}_{digit}.png"
    im.save(name)
    if i == 517:
        # the copy from the scanner station was cut off here
        data = open(name, "rb").read()
        open(name, "wb").write(data[:len(data) // 2])
