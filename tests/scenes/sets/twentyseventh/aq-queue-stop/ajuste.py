"""Ajuste fino de um modelo pequeno para um domínio; para cedo quando a validação não melhora mais."""
import argparse
import os
import time
import zlib

import torch
import torch.nn as nn
import torch.nn.functional as F

p = argparse.ArgumentParser()
p.add_argument("--dominio", required=True)
a = p.parse_args()
torch.set_num_threads(1)
semente = zlib.crc32(a.dominio.encode())
torch.manual_seed(semente)
V, T, B = 90, 24, 16
tabela = torch.randint(0, V, (V, 2 + semente % 3), generator=torch.Generator().manual_seed(semente))
torch.manual_seed(1)


def textos(n):
    x = torch.empty(n, T, dtype=torch.long)
    x[:, 0] = torch.randint(0, V, (n,))
    for t in range(1, T):
        x[:, t] = tabela[x[:, t - 1], torch.randint(0, tabela.shape[1], (n,))]
    return x


treino, valida = textos(64), textos(64)  # poucos textos: em pouco tempo os decora
rede = nn.ModuleDict({"e": nn.Embedding(V, 64), "g": nn.GRU(64, 128, batch_first=True), "d": nn.Dropout(0.1), "o": nn.Linear(128, V)})
opt = torch.optim.AdamW(rede.parameters(), lr=4e-3, weight_decay=0.05)


def perda(x):
    return F.cross_entropy(rede["o"](rede["d"](rede["g"](rede["e"](x[:, :-1]))[0])).flatten(0, 1), x[:, 1:].flatten())


melhor, sem_melhora = 1e9, 0
os.makedirs("modelos", exist_ok=True)
for passo in range(1, 401):
    rede.train()
    l = perda(treino[torch.randint(0, len(treino), (B,))])
    opt.zero_grad()
    l.backward()
    opt.step()
    time.sleep(0.28)
    if passo % 2 == 0:
        print(f"{a.dominio} passo {passo} perda {l.item():.4f}")
    if passo % 10 == 0:
        rede.eval()
        with torch.no_grad():
            v = perda(valida).item()
        if v < melhor - 0.01:
            melhor, sem_melhora = v, 0
            torch.save(rede.state_dict(), f"modelos/{a.dominio}.pt")
        else:
            sem_melhora += 1
        print(f"{a.dominio} passo {passo} validação {v:.4f} (melhor {melhor:.4f}, paciência {sem_melhora}/3)")
        if sem_melhora == 3:
            print(f"{a.dominio}: parada antecipada no passo {passo}, fica o modelo com {melhor:.4f}")
            break
