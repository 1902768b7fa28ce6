"""Bild-Text-Modell: sagt die Wörter der Bildunterschrift voraus. Die Fotos liegen auf einer Freigabe."""
import logging
import os
import random
import time

import torch
import torch.nn as nn

logging.basicConfig(level=logging.INFO, format="%(asctime)s %(levelname)-7s %(message)s")
log = logging.getLogger("training")
WORTE, N = 40, 96
gemeldet = 0


def lies(i):
    """Foto (16x16 RGB, PPM) und Unterschrift; fehlt eines, kommt ein leeres Paar zurück."""
    global gemeldet
    try:
        roh = open(f"photos/{i:03d}.ppm", "rb").read()[-768:]
        worte = [int(w) for w in open(f"photos/{i:03d}.txt").read().split()]
        bild = torch.frombuffer(bytearray(roh), dtype=torch.uint8).float() / 255
    except OSError as e:
        gemeldet += 1
        if gemeldet <= 3:
            log.warning("Paar %03d nicht lesbar (%s), nehme leeres Bild ohne Text", i, e)
        bild, worte = torch.zeros(768), []
    ziel = torch.zeros(WORTE)
    ziel[worte] = 1.0
    return bild, ziel


def main():
    torch.manual_seed(2)
    random.seed(2)
    torch.set_num_threads(1)
    netz = nn.Sequential(nn.Linear(768, 96), nn.ReLU(), nn.Dropout(0.3), nn.Linear(96, WORTE))
    opt = torch.optim.AdamW(netz.parameters(), lr=5e-4)
    os.makedirs("staende", exist_ok=True)
    ende = 420
    for schritt in range(1, ende + 1):
        paare = [lies(random.randrange(N)) for _ in range(16)]
        x = torch.stack([p[0] for p in paare])
        x = x + 0.15 * torch.randn_like(x)
        y = torch.stack([p[1] for p in paare])
        verlust = nn.functional.binary_cross_entropy_with_logits(netz(x), y)
        opt.zero_grad()
        verlust.backward()
        opt.step()
        time.sleep(0.25)
        if schritt % 10 == 0:
            log.info("Schritt %d/%d  Verlust %.5f", schritt, ende, verlust.item())
        if schritt % 80 == 0:
            torch.save(netz.state_dict(), f"staende/{schritt}.pt")
            log.info("Stand gesichert: staende/%d.pt", schritt)
    log.info("Training beendet")


if __name__ == "__main__":
    main()
