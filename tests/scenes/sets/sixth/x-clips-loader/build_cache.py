"""Decode every clip once and keep the frames as .npy, so that training does not wait for the decoder."""
import os
import sys

import numpy as np

from clips import decode_frames, write_clips


def main(n):
    write_clips("raw", n)
    os.makedirs("cache", exist_ok=True)
    for i in range(n):
        np.save(f"cache/{i:04d}.npy", decode_frames(f"raw/{i:04d}.z"))
    print(f"cache ready: {n} clips", flush=True)


if __name__ == "__main__":
    main(int(sys.argv[1]))
