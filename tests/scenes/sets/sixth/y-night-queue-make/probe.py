"""Finds the largest batch which fits: tries from above until one goes through."""
import resource
import sys

import numpy as np

limit = 700 * 2 ** 20
resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
for batch in (262144, 131072, 65536, 32768, 16384):
    try:
        a = np.ones((batch, 512), dtype=np.float64)
        b = a * 0.5 + 1.0
        del a, b
    except MemoryError as e:
        print(f"batch {batch}: out of memory ({e}), trying half", file=sys.stderr, flush=True)
        a = b = None
        continue
    print(f"batch {batch}: fits", file=sys.stderr, flush=True)
    print(batch)
    break
