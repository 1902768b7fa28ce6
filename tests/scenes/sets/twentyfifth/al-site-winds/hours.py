"""The hourly means of five masts, as they come from the archive."""
import numpy as np

SITES = ["ADH", "BRK", "CUX", "DOR", "EMD"]
HOURS = 24 * 440


def load():
    rng = np.random.default_rng(11)
    t = np.arange(HOURS)
    out = []
    for i in range(len(SITES)):
        e = np.zeros(HOURS)
        for h in range(1, HOURS):
            e[h] = 0.93 * e[h - 1] + 0.16 * rng.normal()
        s = np.exp(1.7 + 0.1 * i + 0.25 * np.sin(2 * np.pi * t / 24 + i) + e)
        out.append(s)
    out = np.stack(out).astype(np.float32).round(1)
    out = np.maximum(out, 0.1)
    # mast CUX: cups frozen for five hours in the second winter
    out[2, 4410:4415] = 0.0
    return out
