"""Classification de textures, torchrun, deux rangs."""
import logging
import os
import time

import torch
import torch.distributed as dist
import torch.nn as nn
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, DistributedSampler, TensorDataset

dist.init_process_group("gloo")
rang = dist.get_rank()
logging.basicConfig(
    level=logging.INFO if rang == 0 else logging.WARNING,
    format="%(asctime)s - %(name)s - %(levelname)s - %(message)s",
)
journal = logging.getLogger(f"textures.r{rang}")


def jeu(n, graine):
    g = torch.Generator().manual_seed(graine)
    y = torch.randint(0, 4, (n,), generator=g)
    f = torch.linspace(0, 6.28, 36)[None] * (y[:, None] + 1)
    return TensorDataset(torch.sin(f + torch.rand(n, 1, generator=g) * 6) + 0.9 * torch.randn(n, 36, generator=g), y)


def evaluer(reseau, charge):
    reseau.eval()
    justes = total = 0
    with torch.no_grad():
        for x, y in charge:
            justes += (reseau(x).argmax(1) == y).sum().item()
            total += len(y)
            time.sleep(0.1)
    reseau.train()
    return justes / total


def main():
    torch.manual_seed(0)
    appr, test = jeu(1280, 1), jeu(256, 2)
    ech = DistributedSampler(appr, seed=5)
    charge = DataLoader(appr, batch_size=32, sampler=ech)
    charge_test = DataLoader(test, batch_size=64)
    reseau = DistributedDataParallel(nn.Sequential(nn.Linear(36, 64), nn.ReLU(), nn.Linear(64, 4)))
    opt = torch.optim.Adam(reseau.parameters(), lr=3e-3)
    plan = torch.optim.lr_scheduler.CosineAnnealingLR(opt, 12)
    journal.info("Début de l'entraînement : %d exemples, %d rangs", len(appr), dist.get_world_size())
    meilleur = 0.0
    for epoque in range(1, 13):
        ech.set_epoch(epoque)
        cumul = 0.0
        for x, y in charge:
            perte = nn.functional.cross_entropy(reseau(x), y)
            opt.zero_grad()
            perte.backward()
            opt.step()
            cumul += perte.item()
            time.sleep(0.17)
        plan.step()
        journal.info("Époque %02d/12 | perte : %.4f | lr : %.2e", epoque, cumul / len(charge), plan.get_last_lr()[0])
        if rang == 0:
            exact = evaluer(reseau.module, charge_test)
            journal.info("Époque %02d/12 | exactitude sur le test : %.2f %%", epoque, 100 * exact)
            if exact > meilleur:
                meilleur = exact
                torch.save(reseau.module.state_dict(), "meilleur.pt")
                journal.info("Nouveau meilleur modèle enregistré dans meilleur.pt")
        dist.barrier()
    journal.info("Entraînement terminé. Meilleure exactitude : %.2f %%", 100 * meilleur)
    dist.destroy_process_group()


main()
