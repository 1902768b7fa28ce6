import argparse
import time

import torch
import torch.nn.functional as F

from ocr.model import Lector, muestras

p = argparse.ArgumentParser()
p.add_argument("--salida")
p.add_argument("--epocas", type=int)
a = p.parse_args()
torch.set_num_threads(1)
torch.manual_seed(0)
g = torch.Generator().manual_seed(7)
red = Lector()
opt = torch.optim.Adam(red.parameters(), lr=1e-3)
print(f"Entrenamiento: {a.epocas} épocas, {sum(q.numel() for q in red.parameters())} parámetros")
for epoca in range(1, a.epocas + 1):
    suma = 0.0
    for paso in range(1, 13):
        x, y, e = muestras(32, g)
        s = red(x)
        perdida = F.cross_entropy(s["letra"], y) + 0.3 * F.cross_entropy(s["estilo"], e)
        opt.zero_grad()
        perdida.backward()
        opt.step()
        suma += perdida.item()
        time.sleep(0.15)
        if paso % 4 == 0:
            print(f"Época {epoca:2d}/{a.epocas} paso {paso:2d}/12 pérdida {suma / paso:.4f}")
torch.save(red.state_dict(), a.salida)
print(f"Modelo guardado en {a.salida}")
