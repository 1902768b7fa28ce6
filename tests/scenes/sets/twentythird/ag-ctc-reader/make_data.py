"""Packs synthetic clips into one blob with an index of (offset, samples, text)."""
import numpy as np

rng = np.random.default_rng(5)
rows, off = [], 0
with open("clips.bin", "wb") as f:
    for i in range(3000):
        text = "".join(rng.choice(list("abcdefgh"), size=rng.integers(3, 7)))
        if i < 120:
            wave = np.repeat([ord(c) - 96 for c in text], 4).astype("float16") + rng.normal(0, .1, 4 * len(text)).astype("float16")
            f.write(wave.tobytes())
            rows.append((off, len(wave), text))
            off += wave.nbytes
        else:
            rows.append(rows[int(rng.integers(0, 120))])
# clips which the packer could not place have offset -1
with open("index.tsv", "w") as f:
    for i, (o, n, t) in enumerate(rows):
        if i >= 1250 and i % 40 == 7:
            o = -1
        f.write(f"{np.uint64(np.int64(o))}\t{n}\t{t}\n")
