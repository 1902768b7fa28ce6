import io
import threading

import numpy as np
from PIL import Image

# the PNG codec wrapper of our viewer is not thread safe
codec = threading.Lock()


def decode(raw):
    with codec:
        return np.asarray(Image.open(io.BytesIO(raw)), dtype=np.float32) / 255


def encode(array, level=6):
    with codec:
        buf = io.BytesIO()
        Image.fromarray((array * 255).clip(0, 255).astype("uint8")).save(buf, "PNG", compress_level=level)
        return buf.getvalue()
