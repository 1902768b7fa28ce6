import io
from pathlib import Path
import numpy as np
from PIL import Image


def baixar(raiz="folhas", n=360, classes=6):
    """imagens do grupo do telegram; algumas vieram pela metade"""
    rng = np.random.default_rng(8)
    raiz = Path(raiz)
    for c in range(classes):
        (raiz / f"classe_{c}").mkdir(parents=True, exist_ok=True)
    cores = rng.uniform(60, 200, (classes, 1, 1, 3))
    for i in range(n):
        c = i % classes
        img = np.clip(cores[c] + rng.normal(0, 45, (24, 24, 3)), 0, 255).astype("uint8")
        buf = io.BytesIO()
        Image.fromarray(img).save(buf, "JPEG", quality=90)
        dado = buf.getvalue()
        if i in (17, 88, 141, 203, 290, 333):
            dado = dado[: len(dado) // 2] if i % 2 else b""
        (raiz / f"classe_{c}" / f"img_{i:04d}.jpg").write_bytes(dado)
    return sorted(raiz.glob("*/*.jpg"))
