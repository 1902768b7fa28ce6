"""The raw recordings: 700 short WAV files, some of them cut off by the recorder."""
import pathlib
import wave

import numpy as np

out = pathlib.Path("raw")
out.mkdir(exist_ok=True)
r = np.random.default_rng(4)
t = np.arange(8000) / 8000
for i in range(700):
    tone = sum(np.sin(2 * np.pi * f * t + r.uniform(0, 6)) for f in r.uniform(120, 2400, 3)) / 3
    pcm = ((tone * 0.6 + r.normal(0, 0.05, t.size)) * 20000).astype("<i2")
    with wave.open(str(out / f"clip_{i:04d}.wav"), "wb") as w:
        w.setnchannels(1), w.setsampwidth(2), w.setframerate(8000)
        w.writeframes(pcm.tobytes())
for i in r.choice(700, 14, replace=False):
    path = out / f"clip_{i:04d}.wav"
    path.write_bytes(path.read_bytes()[:30])
