import io
import os
import time

import torch

SHARE = "nas/run7"
PIECE = 1 << 16
RATE = 80_000  # bytes per second that we get from the share on a good day


def put(state, name):
    os.makedirs(SHARE, exist_ok=True)
    buffer = io.BytesIO()
    torch.save(state, buffer)
    data = buffer.getbuffer()
    path = os.path.join(SHARE, name)
    with open(path + ".uploading", "wb") as f:
        for at in range(0, len(data), PIECE):
            f.write(data[at : at + PIECE])
            f.flush()
            os.fsync(f.fileno())
            time.sleep(PIECE / RATE)
    os.replace(path + ".uploading", path)
    for old in sorted(os.listdir(SHARE))[:-1]:
        os.remove(os.path.join(SHARE, old))
    return len(data)
