"""Classification de pièces (images 20x20). Un fil écrit les mesures sur le disque réseau par lots."""
import threading
import time
from collections import Counter

import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset

torch.manual_seed(8)
torch.set_num_threads(1)
EPOQUES, LOT = 30, 16


class Journal(threading.Thread):
    """Garde les compteurs en mémoire, les écrit toutes les 6 époques."""

    def __init__(self):
        super().__init__(daemon=True)
        self.verrou = threading.Lock()
        self.compte = Counter()
        self.a_ecrire = threading.Event()
        self.start()

    def ajoute(self, cle):
        with self.verrou:
            self.compte[cle] += 1

    def run(self):
        while True:
            self.a_ecrire.wait()
            self.a_ecrire.clear()
            with self.verrou:
                with open("compteurs.tsv", "a") as f:
                    for i in range(12):
                        f.write("".join(f"{k}\t{v}\n" for k, v in self.compte.items()))
                        f.flush()
                        time.sleep(0.25)  # le disque réseau est lent


class Pieces(Dataset):
    def __init__(self, journal):
        self.journal = journal
        self.x = torch.randn(360, 1, 20, 20) * 0.8
        self.y = torch.arange(360) % 4
        for i, c in enumerate(self.y.tolist()):
            self.x[i, 0, 5 * c:5 * c + 5] += 1

    def __len__(self):
        return 360

    def __getitem__(self, i):
        x = self.x[i]
        if torch.rand(1) < 0.5:
            x = x.flip(-1)
            self.journal.ajoute("miroir")
        else:
            self.journal.ajoute("brut")
        return x, self.y[i]


def main():
    journal = Journal()
    chargeur = DataLoader(Pieces(journal), batch_size=LOT, shuffle=True, num_workers=2)
    net = nn.Sequential(nn.Conv2d(1, 8, 5, 2), nn.ReLU(), nn.Conv2d(8, 16, 3, 2), nn.ReLU(), nn.Flatten(), nn.Linear(144, 4))
    opt = torch.optim.Adam(net.parameters(), lr=1e-3)
    for ep in range(1, EPOQUES + 1):
        print(f"époque {ep}/{EPOQUES} : début", flush=True)
        juste = somme = 0
        for k, (x, y) in enumerate(chargeur):
            s = net(x)
            perte = nn.functional.cross_entropy(s, y)
            opt.zero_grad()
            perte.backward()
            opt.step()
            juste += (s.argmax(1) == y).sum().item()
            somme += perte.item()
            journal.ajoute("lots")
            time.sleep(0.33)
            if k % 6 == 5:
                print(f"  lot {k + 1}/{len(chargeur)}  perte {perte.item():.4f}", flush=True)
        print(f"époque {ep}/{EPOQUES} : perte moyenne {somme / len(chargeur):.4f}, exactitude {juste / 360:.3f}", flush=True)
        torch.save(net.state_dict(), f"poids_{ep % 2}.pt")
        if ep % 6 == 0:
            journal.a_ecrire.set()
            time.sleep(0.1)


if __name__ == "__main__":
    main()
