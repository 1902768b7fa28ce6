"""Pegelvorhersage: naechste Stunde aus den letzten 48 Stunden."""
import argparse
import configparser
import logging
import time

import numpy as np
import torch
from torch import nn

logging.basicConfig(format="%(asctime)s %(levelname)-7s %(name)s: %(message)s", datefmt="%d.%m.%Y %H:%M:%S", level=logging.INFO)
log = logging.getLogger("pegel")


def messreihen(stationen, stunden):
    rng = np.random.default_rng(11)
    t = np.arange(stunden)
    reihen = []
    for s in range(stationen):
        flut = 120 * np.sin(2 * np.pi * t / 12.42 + s) + 30 * np.sin(2 * np.pi * t / 24 + s)
        reihen.append(500 + flut + np.cumsum(rng.normal(0, 0.4, stunden)) + rng.normal(0, 4, stunden))
    werte = np.stack(reihen).astype(np.float32)
    # Station 4 wurde im Winter abgebaut, Archivwert
    werte[4, 3900:] = 499.0
    return werte


class Netz(nn.Module):
    def __init__(self):
        super().__init__()
        self.gru = nn.GRU(1, 24, batch_first=True)
        self.aus = nn.Linear(24, 1)

    def forward(self, x):
        h, _ = self.gru(x.unsqueeze(-1))
        return self.aus(h[:, -1]).squeeze(-1)


def stapel(werte, schritt, n, fenster, rng):
    tag = schritt * 16
    station = rng.integers(0, len(werte), n)
    beginn = tag + rng.integers(0, 16, n)
    x = np.stack([werte[s, b:b + fenster + 1] for s, b in zip(station, beginn)])
    mitte, streuung = x.mean(1, keepdims=True), x.std(1, keepdims=True)
    x = torch.from_numpy(x - mitte) / torch.from_numpy(streuung)
    return x[:, :-1], x[:, -1]


def main():
    p = argparse.ArgumentParser()
    p.add_argument("--config", required=True)
    cfg = configparser.ConfigParser()
    cfg.read(p.parse_args().config)
    d, tr = cfg["daten"], cfg["training"]
    torch.manual_seed(3)
    torch.set_num_threads(1)
    rng = np.random.default_rng(5)
    werte = messreihen(d.getint("stationen"), d.getint("stunden"))
    log.info("%d Stationen, %d Stunden geladen", *werte.shape)
    netz = Netz()
    opt = torch.optim.Adam(netz.parameters(), lr=tr.getfloat("lernrate"))
    schritte = (werte.shape[1] - 80) // 16
    log.info("Training beginnt: %d Schritte pro Durchgang, %d Parameter", schritte, sum(q.numel() for q in netz.parameters()))
    for durchgang in range(1, 6):
        for schritt in range(schritte):
            x, y = stapel(werte, schritt, tr.getint("stapel"), d.getint("fenster"), rng)
            verlust = nn.functional.mse_loss(netz(x), y)
            opt.zero_grad()
            verlust.backward()
            opt.step()
            time.sleep(tr.getfloat("pause"))
            if schritt % 10 == 0:
                log.info("Durchgang %d Schritt %d/%d Verlust %.4f", durchgang, schritt, schritte, verlust.item())
        torch.save(netz.state_dict(), f"netz_{durchgang}.pt")
        log.info("Modell gespeichert: netz_%d.pt", durchgang)


if __name__ == "__main__":
    main()
