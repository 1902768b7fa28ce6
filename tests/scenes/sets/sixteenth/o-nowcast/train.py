import glob
import time
from datetime import datetime

import numpy as np
import torch

from netz import Nowcast, dbz


def sag(text):
    print(f"{datetime.now():%d.%m.%Y %H:%M:%S}  {text}", flush=True)


torch.manual_seed(3)
torch.set_num_threads(1)
netz = Nowcast()
opt = torch.optim.AdamW(netz.parameters(), lr=2e-3)
monate = sorted(glob.glob("komposit/*.npz"))
sag(f"Training beginnt: {len(monate)} Monate, {sum(p.numel() for p in netz.parameters())} Parameter")
schritt = 0
for epoche in range(1, 4):
    for datei in monate:
        rr = torch.from_numpy(np.load(datei)["rr"])
        summe = []
        for teil in torch.randperm(len(rr)).split(4):
            bild = dbz(rr[teil])
            verlust = torch.nn.functional.huber_loss(netz(bild[:, :5]), bild[:, 5:])
            opt.zero_grad()
            verlust.backward()
            torch.nn.utils.clip_grad_norm_(netz.parameters(), 1.0)
            opt.step()
            schritt += 1
            summe.append(float(verlust))
            time.sleep(0.3)
            if schritt % 6 == 0:
                sag(f"Epoche {epoche} Schritt {schritt:4d}  Verlust {np.mean(summe[-6:]):.5f}  Lernrate {opt.param_groups[0]['lr']:.1e}")
        sag(f"Monat {datei[9:16]} durch, mittlerer Verlust {np.mean(summe):.5f}")
    torch.save(netz.state_dict(), f"nowcast_e{epoche}.pt")
    sag(f"Gewichte gesichert: nowcast_e{epoche}.pt")
sag("Training beendet")
