"""Pack rendered scenes with captions into tar shards, as the crawler does."""
import io
import random
import sys
import tarfile
from pathlib import Path

from PIL import Image, ImageDraw

out = Path(sys.argv[1])
out.mkdir(exist_ok=True)
rng = random.Random(3)
colours = ["red", "green", "blue", "yellow", "white", "purple"]
shapes = ["circle", "square", "bar"]


def add(tar, name, data):
    info = tarfile.TarInfo(name)
    info.size = len(data)
    tar.addfile(info, io.BytesIO(data))


for shard in range(12):
    with tarfile.open(out / f"part-{shard:03d}.tar", "w") as tar:
        for i in range(96):
            c, s = rng.choice(colours), rng.choice(shapes)
            img = Image.new("RGB", (48, 48), (rng.randrange(60),) * 3)
            d = ImageDraw.Draw(img)
            x, y = rng.randrange(20), rng.randrange(20)
            box = (x, y, x + 24, y + (8 if s == "bar" else 24))
            (d.ellipse if s == "circle" else d.rectangle)(box, fill=c)
            buf = io.BytesIO()
            img.save(buf, "JPEG", quality=85)
            data = buf.getvalue()
            if shard == 9 and i >= 40:
                data = data[: len(data) * 3 // 4]
            add(tar, f"{shard:03d}{i:05d}.jpg", data)
            add(tar, f"{shard:03d}{i:05d}.txt", f"a {c} {s}".encode())
    print(f"packed part-{shard:03d}.tar")
