import os

import numpy as np

os.makedirs("clips")
rng = np.random.default_rng(8)
for i in range(420):
    t = np.arange(800) / 4000
    wave = np.sin(2 * np.pi * (100 + 60 * (i % 5)) * t + rng.uniform(0, 6)) + rng.normal(scale=0.6, size=t.size)
    wave.astype(np.float32).tofile(f"clips/{i:05d}_{i % 5}.f32")
