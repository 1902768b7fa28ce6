# -*- coding: utf-8 -*-
"""Entrenamiento CTC de juguete. Un hilo prepara los lotes, el bucle principal los consume."""
import logging
import queue
import random
import threading
import time

import numpy as np
import torch
from torch import nn

torch.set_num_threads(1)
logging.basicConfig(format="%(asctime)s %(levelname).1s [%(threadName)s] %(message)s", level=logging.INFO, datefmt="%H:%M:%S")
log = logging.getLogger("ctc")

ALPHABET = "_ abcdefghijklmnopqrstuvwxyzáéíóúñ"
INDEX = {c: i for i, c in enumerate(ALPHABET)}
WORDS = "el la casa perro gato niño está aquí mañana sol luna tren camión azul verde tres cuatro".split()
LATE = ["pingüino", "vergüenza"]


def manifest(n):
    rng = random.Random(11)
    for i in range(n):
        pool = WORDS if i < 640 else WORDS + LATE
        yield f"utt{i:05d}", " ".join(rng.choices(pool, k=rng.randint(2, 4)))


def features(text, rng):
    codes = np.repeat([ord(c) % 29 for c in text], 3)
    x = rng.normal(0, 0.3, (len(codes), 20)).astype(np.float32)
    x[np.arange(len(codes)), codes % 20] += 2.0
    return torch.from_numpy(x)


def producer(q, n, bs=8):
    rng = np.random.default_rng(0)
    batch = []
    for utt, text in manifest(n):
        y = torch.tensor([INDEX[c] for c in text])
        batch.append((features(text, rng), y))
        if len(batch) == bs:
            q.put(batch)
            batch = []
    q.put(None)


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.rnn = nn.GRU(20, 48, batch_first=True, bidirectional=True)
        self.out = nn.Linear(96, len(ALPHABET))

    def forward(self, x):
        return self.out(self.rnn(x)[0]).log_softmax(-1)


def main():
    torch.manual_seed(0)
    net = Net()
    opt = torch.optim.Adam(net.parameters(), lr=3e-3)
    ctc = nn.CTCLoss(zero_infinity=True)
    q = queue.Queue(maxsize=6)
    threading.Thread(target=producer, args=(q, 2400), name="lector", daemon=True).start()
    log.info("modelo con %d parámetros, 300 lotes por época", sum(p.numel() for p in net.parameters()))
    paso, media, t0 = 0, None, time.time()
    while True:
        batch = q.get()
        if batch is None:
            break
        xs, ys = zip(*batch)
        lp = net(nn.utils.rnn.pad_sequence(xs, batch_first=True)).transpose(0, 1)
        loss = ctc(lp, torch.cat(ys), torch.tensor([len(x) for x in xs]), torch.tensor([len(y) for y in ys]))
        opt.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(net.parameters(), 5.0)
        opt.step()
        time.sleep(0.3)
        paso += 1
        media = loss.item() if media is None else 0.9 * media + 0.1 * loss.item()
        if paso % 4 == 0:
            log.info("paso %d/300  pérdida %.4f  media %.4f  %.2f lotes/s", paso, loss.item(), media, paso / (time.time() - t0))
        if paso % 50 == 0:
            torch.save(net.state_dict(), "ctc_ultimo.pt")
            log.info("punto de control guardado: ctc_ultimo.pt")
    log.info("época terminada, media %.4f", media)


if __name__ == "__main__":
    main()
