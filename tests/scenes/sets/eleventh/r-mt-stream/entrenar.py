import json
import logging
import pathlib
import time

import torch
from torch import nn

logging.basicConfig(level=logging.INFO, format="%(asctime)s | %(levelname)-7s | %(message)s",
                    handlers=[logging.FileHandler("entrenamiento.log"), logging.StreamHandler()])
log = logging.getLogger()
COLA, TOTAL = pathlib.Path("cola"), 37


class Traductor(nn.Module):
    def __init__(self, v=320, d=32):
        super().__init__()
        self.e = nn.Embedding(v, d, padding_idx=0)
        self.cod = nn.GRU(d, d, batch_first=True)
        self.dec = nn.GRU(d, d, batch_first=True)
        self.sal = nn.Linear(d, v)

    def forward(self, a, b):
        _, h = self.cod(self.e(a))
        return self.sal(self.dec(self.e(b), h)[0])


def lote(filas):
    seq = nn.utils.rnn.pad_sequence
    return (seq([torch.tensor(f[0]) for f in filas], batch_first=True),
            seq([torch.tensor(f[1]) for f in filas], batch_first=True))


def siguiente(n):
    ruta, vueltas = COLA / f"{n:04d}.json", 0
    while not ruta.exists():
        time.sleep(0.5)
        vueltas += 1
        if n and vueltas % 20 == 0:
            log.info("esperando el fragmento %d (%d s)", n, vueltas // 2)
    filas = json.loads(ruta.read_text())
    ruta.unlink()
    return filas


torch.manual_seed(2)
red = Traductor()
opt = torch.optim.Adam(red.parameters(), 3e-3)
paso = 0
log.info("entrenamiento iniciado: %d parámetros", sum(p.numel() for p in red.parameters()))
for n in range(TOTAL):
    filas = siguiente(n)
    for k in range(0, len(filas), 8):
        a, b = lote(filas[k:k + 8])
        perdida = nn.functional.cross_entropy(red(a, b[:, :-1]).flatten(0, 1), b[:, 1:].flatten(), ignore_index=0)
        opt.zero_grad()
        perdida.backward()
        opt.step()
        paso += 1
        time.sleep(0.35)
        if paso % 5 == 0:
            log.info("paso %d  pérdida %.4f  fragmento %d/%d", paso, perdida.item(), n, TOTAL)
    if n % 10 == 9:
        torch.save(red.state_dict(), "traductor.pt")
log.info("entrenamiento terminado")
