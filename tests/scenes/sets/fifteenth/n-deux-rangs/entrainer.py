"""Detection de defauts, deux rangs gloo. Usage : torchrun --nproc_per_node 2 entrainer.py"""
import os
import time
from datetime import datetime

import torch
import torch.distributed as dist
import torch.nn as nn
from torch.nn.parallel import DistributedDataParallel as DDP

LOT = 16
EPOQUES = 12


def dire(*mots):
    print(f"[{datetime.now():%d/%m %H:%M:%S}] [rang {dist.get_rank()}]", *mots, flush=True)


def donnees(rang):
    g = torch.Generator().manual_seed(40 + rang)
    x = torch.randn(320, 24, generator=g)
    y = (x[:, :6].sum(1) > 0).long()
    # usine A (rang 0) : capteur neuf
    bruit = 0.15 if rang == 0 else 0.9
    return x + bruit * torch.randn(320, 24, generator=g), y


def sauver(modele, epoque):
    chemin = f"points/epoque_{epoque:02d}.pt"
    if dist.get_rank() == 0:
        torch.save(modele.module.state_dict(), chemin + ".tmp")
        os.replace(chemin + ".tmp", chemin)
    while not os.path.exists(chemin):  # les autres attendent le fichier
        time.sleep(0.5)


def main():
    dist.init_process_group("gloo")
    rang = dist.get_rank()
    torch.manual_seed(0)
    os.makedirs("points", exist_ok=True)
    modele = DDP(nn.Sequential(nn.Linear(24, 32), nn.ReLU(), nn.Linear(32, 2)))
    opt = torch.optim.Adam(modele.parameters(), lr=4e-3)
    perte_ind = nn.CrossEntropyLoss(reduction="none")
    x, y = donnees(rang)
    choix = torch.arange(len(x))
    dire(f"{len(x)} images, lot de {LOT}")
    for epoque in range(1, EPOQUES + 1):
        ordre = choix[torch.randperm(len(choix))]
        n = (len(ordre) + LOT - 1) // LOT
        somme = 0.0
        for k in range(n):
            i = ordre[k * LOT:(k + 1) * LOT]
            perte = perte_ind(modele(x[i]), y[i]).mean()
            opt.zero_grad()
            perte.backward()
            opt.step()
            somme += perte.item()
            time.sleep(0.22)
            if rang == 0 and (k + 1) % 4 == 0:
                dire(f"époque {epoque}/{EPOQUES} lot {k + 1}/{n} perte {perte.item():.4f}")
        if rang == 0:
            dire(f"époque {epoque} terminée, perte moyenne {somme / n:.4f}")
        sauver(modele, epoque)
        if epoque >= 4:
            # exemples difficiles seulement (OHEM), a partir de l'epoque 5
            with torch.no_grad():
                e = perte_ind(modele.module(x), y)
            choix = torch.nonzero(e > 0.08).flatten()
            dire(f"exemples difficiles gardés : {len(choix)}")
    dist.destroy_process_group()


main()
