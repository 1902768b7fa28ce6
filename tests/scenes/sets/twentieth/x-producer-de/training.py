import logging
import multiprocessing as mp
import time
from pathlib import Path

import torch
from torch import nn

from quelle import anlegen, erzeuger

logging.basicConfig(level=logging.INFO, format="%(asctime)s [%(levelname)s] %(message)s", datefmt="%H:%M:%S")
log = logging.getLogger()


def main():
    torch.set_num_threads(1)
    torch.manual_seed(1)
    ordner = Path("messungen")
    anlegen(ordner)
    schlange = mp.Queue(maxsize=8)
    leser = mp.Process(target=erzeuger, args=(sorted(ordner.glob("*.csv")), schlange), name="leser")
    leser.start()
    log.info("Leseprozess gestartet (PID %d)", leser.pid)
    netz = nn.GRU(8, 24, batch_first=True)
    kopf = nn.Linear(24, 8)
    opt = torch.optim.Adam([*netz.parameters(), *kopf.parameters()], lr=2e-3)
    schritt, mittel = 0, None
    while (teil := schlange.get()) is not None:
        name, werte = teil
        x = torch.from_numpy(werte).unsqueeze(0)
        h, _ = netz(x[:, :-1])
        verlust = (kopf(h) - x[:, 1:]).pow(2).mean()
        opt.zero_grad()
        verlust.backward()
        opt.step()
        schritt += 1
        mittel = verlust.item() if mittel is None else 0.95 * mittel + 0.05 * verlust.item()
        time.sleep(0.04)
        if schritt % 10 == 0:
            log.info("Schritt %4d  Datei %s  Verlust %.4f (Mittel %.4f)", schritt, name, verlust.item(), mittel)
    leser.join()
    torch.save(netz.state_dict(), "netz.pt")
    log.info("Fertig nach %d Schritten", schritt)


if __name__ == "__main__":
    mp.set_start_method("fork")
    main()
