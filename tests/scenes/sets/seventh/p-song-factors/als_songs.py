#!/usr/bin/env python
"""Song recommender: SGD matrix factorisation over play events, numpy only. Resumes from state.npz."""
import os
import sys
import time

import numpy as np

N_USER, N_SONG, K = 3000, 1200, 24
BLOCKS = 160


def block(i):
    rng = np.random.default_rng(1000 + i)
    u = rng.integers(0, N_USER, 4000)
    s = rng.integers(0, N_SONG, 4000)
    if i == 57:                      # the catalogue grew that night, the events came first
        s[-7:] = N_SONG + np.arange(7)
    r = np.sin(u * 0.01) * np.cos(s * 0.02) + rng.normal(0, 0.1, 4000)
    return u, s, r


def save(done, P, Q):
    np.savez("state.tmp.npz", done=done, P=P, Q=Q)
    os.replace("state.tmp.npz", "state.npz")


def main():
    if os.path.exists("state.npz"):
        z = np.load("state.npz")
        done, P, Q = int(z["done"]), z["P"], z["Q"]
        sys.stderr.write(f"als_songs: continuing after block {done}\n")
    else:
        rng = np.random.default_rng(0)
        done, P, Q = 0, rng.normal(0, 0.3, (N_USER, K)), rng.normal(0, 0.3, (N_SONG, K))
        sys.stderr.write("als_songs: no state, starting from scratch\n")
    for i in range(done + 1, BLOCKS + 1):
        u, s, r = block(i)
        se = 0.0
        for a in range(0, len(u), 500):
            uu, ss, rr = u[a:a + 500], s[a:a + 500], r[a:a + 500]
            e = rr - (P[uu] * Q[ss]).sum(1)
            se += float((e ** 2).sum())
            dP, dQ = e[:, None] * Q[ss], e[:, None] * P[uu]
            np.add.at(P, uu, 0.03 * dP)
            np.add.at(Q, ss, 0.03 * dQ)
        time.sleep(0.35)
        sys.stderr.write(f"als_songs: block {i}/{BLOCKS} rmse {np.sqrt(se / len(u)):.5f}\n")
        if i % 20 == 0:
            save(i, P, Q)
            sys.stderr.write(f"als_songs: state written ({i} blocks)\n")
    np.save("song_factors.npy", Q)
    sys.stderr.write("als_songs: all blocks done\n")


main()
