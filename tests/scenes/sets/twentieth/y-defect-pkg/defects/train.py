import argparse
import logging
import math
import os
import time

import torch
import torch.nn as nn
import torch.nn.functional as F
import yaml

from defects.daten import bilder

log = logging.getLogger("defects")


def netz(arten):
    return nn.Sequential(nn.Conv2d(1, 12, 3, padding=1), nn.BatchNorm2d(12), nn.ReLU(), nn.MaxPool2d(2),
                         nn.Conv2d(12, 16, 3, padding=1), nn.BatchNorm2d(16), nn.ReLU(), nn.AdaptiveMaxPool2d(2),
                         nn.Flatten(), nn.Linear(64, arten))


@torch.no_grad()
def pruefe(modell, x, y):
    modell.eval()
    z = modell(x)
    modell.train()
    return F.cross_entropy(z, y).item(), (z.argmax(1) == y).float().mean().item()


def main():
    p = argparse.ArgumentParser()
    p.add_argument("--config", required=True)
    cfg = yaml.safe_load(open(p.parse_args().config, encoding="utf-8"))
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(levelname)s %(name)s - %(message)s")
    torch.set_num_threads(1)
    torch.manual_seed(5)
    d, t = cfg["daten"], cfg["training"]
    x, y = bilder(d["anzahl"], d["groesse"], d["fehlerarten"], 1)
    px, py = bilder(d["pruefung"], d["groesse"], d["fehlerarten"], 2)
    log.info("Konfiguration geladen: %s", cfg)
    log.info("%d Bilder zum Training, %d zur Prüfung", len(x), len(px))
    modell = netz(d["fehlerarten"])
    opt = torch.optim.SGD(modell.parameters(), lr=t["lr"], momentum=t["momentum"])
    je = math.ceil(len(x) / t["batch"])
    plan = torch.optim.lr_scheduler.CosineAnnealingLR(opt, t["epochen"] * je)
    os.makedirs(cfg["ausgabe"], exist_ok=True)
    beste, schritt = 0.0, 0
    for epoche in range(1, t["epochen"] + 1):
        summe = 0.0
        for teil in torch.randperm(len(x)).split(t["batch"]):
            verlust = F.cross_entropy(modell(x[teil]), y[teil])
            opt.zero_grad()
            verlust.backward()
            opt.step()
            plan.step()
            schritt += 1
            summe += verlust.item()
            time.sleep(t["pause"])
            if schritt % 6 == 0:
                log.info("Epoche %d/%d Schritt %d Verlust %.4f", epoche, t["epochen"], schritt, verlust.item())
        pv, genau = pruefe(modell, px, py)
        log.info("Epoche %d: Trainingsverlust %.4f, Prüfverlust %.4f, Genauigkeit %.1f %%", epoche, summe / je, pv, 100 * genau)
        if genau > beste:
            beste = genau
            torch.save(modell.state_dict(), f"{cfg['ausgabe']}/bestes.pt")
            log.info("Neuer Bestwert, gespeichert: %s/bestes.pt", cfg["ausgabe"])
    log.info("Fertig nach %d Schritten, beste Genauigkeit %.1f %%", schritt, 100 * beste)


if __name__ == "__main__":
    main()
