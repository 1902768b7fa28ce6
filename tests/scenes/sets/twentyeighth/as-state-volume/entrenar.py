"""Preentrenamiento de un modelo de caracteres con Accelerate; guarda el estado entero cada 40 pasos."""
import os
import time

import torch
import torch.nn as nn
import torch.nn.functional as F
from accelerate import Accelerator
from accelerate.utils import ProjectConfiguration
from torch.utils.data import DataLoader, TensorDataset

torch.set_num_threads(1)
torch.manual_seed(5)
PAUSA = float(os.environ.get("PAUSA", 0.45))
acc = Accelerator(cpu=True, project_config=ProjectConfiguration(project_dir="vol/corrida", automatic_checkpoint_naming=True))


class Modelo(nn.Module):
    def __init__(self, v=96, d=128):
        super().__init__()
        self.tok, self.pos = nn.Embedding(v, d), nn.Embedding(32, d)
        capa = nn.TransformerEncoderLayer(d, 4, 4 * d, 0.0, batch_first=True, norm_first=True)
        self.cuerpo = nn.TransformerEncoder(capa, 3, enable_nested_tensor=False)
        self.cabeza = nn.Linear(d, v)

    def forward(self, x):
        m = nn.Transformer.generate_square_subsequent_mask(x.size(1))
        return self.cabeza(self.cuerpo(self.tok(x) + self.pos.weight[: x.size(1)], mask=m))


saltos = torch.tensor([1, 1, 1, 2, 7])[torch.randint(0, 5, (6000, 33))]
datos = DataLoader(TensorDataset(saltos.cumsum(1) % 96), batch_size=8, shuffle=True, drop_last=True)
modelo = Modelo()
opt = torch.optim.AdamW(modelo.parameters(), lr=1e-3)
modelo, opt, datos = acc.prepare(modelo, opt, datos)
acc.print(f"parámetros: {sum(p.numel() for p in modelo.parameters()):,}  pasos por época: {len(datos)}", flush=True)
paso = 0
for epoca in range(1, 4):
    for (b,) in datos:
        paso += 1
        perdida = F.cross_entropy(modelo(b[:, :-1]).flatten(0, 1), b[:, 1:].flatten())
        acc.backward(perdida)
        acc.clip_grad_norm_(modelo.parameters(), 1.0)
        opt.step()
        opt.zero_grad()
        time.sleep(PAUSA)
        acc.print(f"{time.strftime('%H:%M:%S')} época {epoca} paso {paso} pérdida {perdida.item():.4f}", flush=True)
        if paso % 40 == 0:
            donde = acc.save_state()
            acc.print(f"{time.strftime('%H:%M:%S')} estado guardado en {donde}", flush=True)
acc.print("fin del entrenamiento", flush=True)
