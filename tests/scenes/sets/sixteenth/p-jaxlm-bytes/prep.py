import sys
import numpy as np

g = np.random.default_rng(0)
words = [bytes(g.integers(97, 123, g.integers(2, 7)).tolist()) for _ in range(200)]
n = int(sys.argv[2])
text = b" ".join(words[i] for i in g.zipf(1.4, n // 3) % 200)[:n]
with open(sys.argv[1], "wb") as f:
    f.write(text)
print("wrote", len(text), "bytes to", sys.argv[1])
