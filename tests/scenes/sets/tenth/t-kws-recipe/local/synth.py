import sys
import numpy as np

job, n, out = int(sys.argv[1]), int(sys.argv[2]), sys.argv[3]
proto = np.random.default_rng(0).normal(size=(10, 30, 16))
rng = np.random.default_rng(job)
y = rng.integers(0, 10, n)
x = proto[y] + rng.normal(0, 2.2, (n, 30, 16))
np.savez(out, x=x.astype("float32"), y=y)
print(f"LOG (synth) job {job}: {n} utterances, mean {x.mean():.4f}, {n * 0.3:.1f} s of audio")
