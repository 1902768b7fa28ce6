"""Modelo de lenguaje por caracteres (GRU) con Accelerate. Uso: python entrena.py [epocas]"""
import os
os.environ.setdefault("OMP_NUM_THREADS", "1")
import math, random, sys, time
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset
from accelerate import Accelerator
from accelerate.utils import set_seed
from tqdm.auto import tqdm

EPOCAS = int(sys.argv[1]) if len(sys.argv) > 1 else 6
acc = Accelerator(cpu=True, gradient_accumulation_steps=2)
set_seed(23)
suj = ["el perro", "la vecina", "mi hermano", "una doctora", "el cartero"]
ver = ["mira", "busca", "pierde", "compra", "olvida"]
obj = ["las llaves", "un libro", "el pan", "la bicicleta", "su paraguas"]
adv = ["en la plaza", "por la noche", "sin prisa", "cada domingo"]
texto = "".join(f"{random.choice(suj)} {random.choice(ver)} {random.choice(obj)} {random.choice(adv)}. " for _ in range(700))
abc = sorted(set(texto))
ids = torch.tensor([abc.index(c) for c in texto])
L = 48
n = (len(ids) - 1) // L
X, Y = ids[: n * L].view(n, L), ids[1 : n * L + 1].view(n, L)
corte = int(n * 0.9)
acc.print(f"corpus: {len(texto)} caracteres, {len(abc)} símbolos, {n} secuencias")
tren = DataLoader(TensorDataset(X[:corte], Y[:corte]), batch_size=8, shuffle=True)
prueba = DataLoader(TensorDataset(X[corte:], Y[corte:]), batch_size=16)


class Red(nn.Module):
    def __init__(self, v, d=64):
        super().__init__()
        self.e, self.g, self.s = nn.Embedding(v, d), nn.GRU(d, d, batch_first=True), nn.Linear(d, v)

    def forward(self, x):
        return self.s(self.g(self.e(x))[0])


red = Red(len(abc))
opt = torch.optim.AdamW(red.parameters(), lr=4e-3)
plan = torch.optim.lr_scheduler.OneCycleLR(opt, 6e-3, total_steps=math.ceil(EPOCAS * len(tren) / 2) + 5)
red, opt, tren, prueba, plan = acc.prepare(red, opt, tren, prueba, plan)
ce = nn.CrossEntropyLoss()
for ep in range(1, EPOCAS + 1):
    red.train()
    barra = tqdm(tren, desc=f"época {ep}/{EPOCAS}", mininterval=1.0, disable=not acc.is_local_main_process)
    for x, y in barra:
        with acc.accumulate(red):
            perdida = ce(red(x).flatten(0, 1), y.flatten())
            acc.backward(perdida)
            if acc.sync_gradients:
                acc.clip_grad_norm_(red.parameters(), 1.0)
            opt.step(); plan.step(); opt.zero_grad()
        time.sleep(0.09)
        barra.set_postfix(pérdida=f"{perdida.item():.3f}")
    red.eval()
    with torch.no_grad():
        v = sum(ce(red(x).flatten(0, 1), y.flatten()).item() for x, y in prueba) / len(prueba)
    acc.print(f"época {ep}: pérdida de validación {v:.4f}, perplejidad {math.exp(v):.2f}", flush=True)
    acc.save_state(f"estado/epoca_{ep}")
acc.print("entrenamiento terminado")
