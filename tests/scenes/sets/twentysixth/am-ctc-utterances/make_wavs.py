"""Unpack the recordings (here: make them): one tone for each letter."""
import json
import os
import random
import sys
import wave

import numpy as np

root = sys.argv[1]
os.makedirs(f"{root}/wavs", exist_ok=True)
rng = random.Random(9)
rows = []
for i in range(320):
    txt = "".join(rng.choices("abcdefgh", k=3 + i // 80))
    t = np.arange(int(8000 * 0.1)) / 8000
    sig = np.concatenate([np.r_[np.sin(2 * np.pi * (300 + 250 * (ord(c) - 97)) * t), np.zeros(240)] for c in txt])
    sig = sig + np.random.default_rng(i).normal(0, 0.05, len(sig))
    with wave.open(f"{root}/wavs/utt_{i:04d}.wav", "wb") as w:
        w.setnchannels(1)
        w.setsampwidth(2)
        w.setframerate(8000)
        w.writeframes((sig * 9000).astype("<i2").tobytes())
    rows.append({"wav": f"wavs/utt_{i:04d}.wav", "text": txt})
json.dump(rows, open(f"{root}/manifest.json", "w"))
