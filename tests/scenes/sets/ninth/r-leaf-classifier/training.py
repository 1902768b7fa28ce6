import time

import torch
from daten import Blaetter
from torch import nn
from torch.utils.data import DataLoader
from tqdm import tqdm

GEDULD, EPOCHEN = 4, 40
torch.manual_seed(1)
lade_training = DataLoader(Blaetter(360, 0), batch_size=24, shuffle=True, num_workers=2, persistent_workers=True)
lade_pruefung = DataLoader(Blaetter(180, 10_000), batch_size=60, num_workers=1, persistent_workers=True)
netz = nn.Sequential(nn.Conv2d(1, 8, 5, 2), nn.ReLU(), nn.Conv2d(8, 16, 3, 2), nn.ReLU(), nn.Flatten(),
                     nn.Linear(144, 64), nn.ReLU(), nn.Linear(64, 3))
opt = torch.optim.Adam(netz.parameters(), 2e-3)
bester, seit, t0 = 1e9, 0, time.time()
for epoche in range(1, EPOCHEN + 1):
    netz.train()
    leiste = tqdm(lade_training, desc=f"Epoche {epoche}", ncols=80, mininterval=1)
    for bild, art in leiste:
        verlust = nn.functional.cross_entropy(netz(bild), art)
        opt.zero_grad()
        verlust.backward()
        opt.step()
        time.sleep(0.18)
        leiste.set_postfix(verlust=f"{verlust.item():.3f}", refresh=False)
    netz.eval()
    summe = richtig = 0
    with torch.no_grad():
        for bild, art in lade_pruefung:
            z = netz(bild)
            summe += nn.functional.cross_entropy(z, art, reduction="sum").item()
            richtig += (z.argmax(1) == art).sum().item()
    mittel = summe / 180
    tqdm.write(f"Epoche {epoche}: Validierungsverlust {mittel:.4f}, Genauigkeit {richtig / 180:.1%}")
    if mittel < bester:
        bester, seit = mittel, 0
        torch.save(netz.state_dict(), "bestes_netz.pt")
    else:
        seit += 1
        tqdm.write(f"  keine Verbesserung seit {seit} Epoche(n)")
        if seit >= GEDULD:
            tqdm.write(f"Frühes Stoppen nach Epoche {epoche}. Bester Verlust {bester:.4f}")
            break
tqdm.write(f"Training beendet nach {time.time() - t0:.0f} s")
