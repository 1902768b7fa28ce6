"""Schweissnahtbilder in eine Datei packen: je Satz Pruefsumme, Klasse, 20x20 Bildpunkte."""
import struct
import zlib

import numpy as np

SIDE = 20


def main():
    rng = np.random.default_rng(5)
    with open("naehte.rec", "wb") as f:
        for i in range(1200):
            k = int(rng.integers(0, 3))
            img = rng.integers(90, 130, (SIDE, SIDE))
            img[9:11, :] += 60
            if k == 1:
                r, c = rng.integers(4, 15, 2)
                img[r:r + 3, c:c + 3] -= 80
            if k == 2:
                img[:, rng.integers(4, 16)] += 70
            body = bytes([k]) + img.clip(0, 255).astype(np.uint8).tobytes()
            f.write(struct.pack("<I", zlib.crc32(body)) + body)


if __name__ == "__main__":
    main()
