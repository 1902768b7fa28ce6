"""Decodes utterances and writes them as fixed size records into the frame pipe."""
import sys
import time

import numpy as np

PIPE = sys.argv[1]
rng = np.random.default_rng(5)
PROTO = rng.normal(size=(12, 16)).astype(np.float32)      # one prototype per phone

n = 0
with open(PIPE, "wb", buffering=0) as out:
    while True:
        phones = rng.integers(1, 13, size=6).astype(np.int32)
        frames = np.repeat(PROTO[phones - 1], 5, axis=0)
        frames = frames + rng.normal(scale=1.1, size=frames.shape).astype(np.float32)
        out.write(phones.tobytes() + frames.astype(np.float32).tobytes())
        n += 1
        if n % 500 == 0:
            print("feeder:", n, "utterances", flush=True)
        time.sleep(0.002)
