"""Keyword spotter: log spectrogram, small conv net. A thread reads the recordings ahead of the training."""
import itertools
import os
import queue
import random
import struct
import threading
import time
import wave
from pathlib import Path

import numpy as np
import torch
from torch import nn

RATE, SECONDS, WORDS = 8000, 0.5, ["yes", "no", "stop", "go"]
WAVS = Path("wavs")
BATCH, EPOCHS, STEPS = 8, 10, 30


def record(path, word, noise, rng):
    t = np.arange(int(RATE * SECONDS)) / RATE
    f = 300 + 180 * word + rng.normal(0, 35)
    x = np.sin(2 * np.pi * (f * t + 60 * word * t * t)) * rng.uniform(0.2, 0.7) + rng.normal(0, noise, len(t))
    with wave.open(str(path), "wb") as w:
        w.setnchannels(1)
        w.setsampwidth(2)
        w.setframerate(RATE)
        w.writeframes(struct.pack(f"<{len(t)}h", *np.clip(x * 12000, -32000, 32000).astype(int)))


def prepare():
    """Stands for the download of the recordings."""
    WAVS.mkdir(exist_ok=True)
    rng = np.random.default_rng(0)
    for part, noise, n in (("clean", 0.4, 60), ("noisy", 0.9, 40), ("dev", 0.6, 40)):
        for i in range(n):
            record(WAVS / f"{part}_{i:03d}_{WORDS[i % 4]}.wav", i % 4, noise, rng)


def load(path):
    with wave.open(str(path), "rb") as w:
        raw = w.readframes(w.getnframes())
    x = torch.from_numpy(np.frombuffer(raw, dtype="<i2").astype(np.float32) / 12000)
    spec = torch.stft(x, 256, 128, window=torch.hann_window(256), return_complex=True).abs()
    return torch.log1p(spec)[None], WORDS.index(path.stem.split("_")[2])


def stack(items):
    return torch.stack([a for a, _ in items]), torch.tensor([b for _, b in items])


def reader(files, out):
    rng = random.Random(1)
    while True:
        rng.shuffle(files)
        for i in range(0, len(files) - BATCH + 1, BATCH):
            out.put(stack([load(p) for p in files[i : i + BATCH]]))


def main():
    torch.manual_seed(0)
    torch.set_num_threads(1)
    Path("pid").write_text(str(os.getpid()))
    prepare()
    files = sorted(WAVS.glob("clean_*")) + sorted(WAVS.glob("noisy_*"))
    dev_x, dev_y = stack([load(p) for p in sorted(WAVS.glob("dev_*"))])
    print(f"{len(files)} grabaciones de entrenamiento, {len(dev_y)} de desarrollo, palabras {WORDS}", flush=True)

    net = nn.Sequential(
        nn.Conv2d(1, 8, 5, stride=2), nn.ReLU(), nn.Dropout(0.1), nn.Conv2d(8, 16, 5, stride=2), nn.ReLU(),
        nn.AdaptiveAvgPool2d((8, 1)), nn.Flatten(), nn.Linear(128, 4),
    )
    opt = torch.optim.Adam(net.parameters(), lr=4e-3)
    ready = queue.Queue(maxsize=4)
    threading.Thread(target=reader, args=(files, ready), name="prefetch", daemon=True).start()

    batch = ready.get()
    for epoch in range(1, EPOCHS + 1):
        net.train()
        total = 0.0
        for step in range(1, STEPS + 1):
            try:
                batch = ready.get(timeout=0.1)
            except queue.Empty:
                pass  # slow disk: one more step with what we have
            x, y = batch
            loss = nn.functional.cross_entropy(net(x), y)
            opt.zero_grad()
            loss.backward()
            opt.step()
            total += loss.item()
            time.sleep(0.35)
            if step % 5 == 0:
                print(f"época {epoch:2d} paso {step:2d}/{STEPS} pérdida {total / step:.5f}", flush=True)
        net.eval()
        with torch.no_grad():
            acc = (net(dev_x).argmax(1) == dev_y).float().mean().item()
        torch.save(net.state_dict(), f"kws_{epoch:02d}.pt")
        print(f"época {epoch:2d} terminada: exactitud desarrollo {acc:.3f}, guardado kws_{epoch:02d}.pt", flush=True)
    print("entrenamiento terminado", flush=True)


if __name__ == "__main__":
    main()
