"""WAV to log-mel features in one HDF5 file, with a pool of workers."""
import logging
import multiprocessing as mp
import os
import pathlib
import time
import wave

import h5py
import numpy as np

logging.basicConfig(format="%(asctime)s %(processName)s %(levelname)s %(message)s", level=logging.INFO)
log = logging.getLogger("prepare")
PAUSE = float(os.environ.get("PAUSE", "0.38"))
N_FFT, HOP, MELS = 256, 128, 40
centers = np.linspace(0, N_FFT // 2, MELS + 2)
bins = np.arange(N_FFT // 2 + 1)
FILTER = np.stack([np.interp(bins, centers[m:m + 3], [0, 1, 0]) for m in range(MELS)])


def features(path):
    try:
        with wave.open(str(path)) as w:
            x = np.frombuffer(w.readframes(w.getnframes()), "<i2") / 32768
    except (wave.Error, EOFError) as e:
        log.error("cannot read %s: %r, skipped", path.name, e)
        return path.name, None
    frames = np.lib.stride_tricks.sliding_window_view(x, N_FFT)[::HOP] * np.hanning(N_FFT)
    spec = np.abs(np.fft.rfft(frames)) ** 2
    time.sleep(PAUSE)
    return path.name, np.log(spec @ FILTER.T + 1e-6).astype("float32")


def main():
    files = sorted(pathlib.Path("raw").glob("*.wav"))
    log.info("%d files, features %d mel", len(files), MELS)
    done, bad, started = 0, 0, time.time()
    with mp.Pool(2) as pool, h5py.File("features.h5", "w") as h5:
        out = h5.create_dataset("mel", (0, 61, MELS), maxshape=(None, 61, MELS), chunks=(16, 61, MELS), dtype="f4")
        total = np.zeros(MELS)
        for name, mel in pool.imap(features, files, chunksize=2):
            if mel is None:
                bad += 1
                continue
            out.resize(done + 1, axis=0)
            out[done] = mel
            total += mel.mean(0)
            done += 1
            if done % 4 == 0:
                rate = done / (time.time() - started)
                log.info("%d/%d written, %d skipped, %.1f files/s, eta %ds", done, len(files), bad, rate, (len(files) - done - bad) / rate)
        h5["mean"] = total / done
    log.info("finished: %d clips in features.h5 (%.1f MB), %d skipped", done, os.path.getsize("features.h5") / 1e6, bad)


if __name__ == "__main__":
    main()
