import time
from pathlib import Path

import torch
from torch import nn

from . import corpus, journal


class Classifieur(nn.Module):
    def __init__(self, vocab, d=32, classes=5):
        super().__init__()
        self.plongement = nn.Embedding(vocab, d)
        self.rnn = nn.GRU(d, d, batch_first=True)
        self.sortie = nn.Linear(d, classes)

    def forward(self, ids):
        h, _ = self.rnn(self.plongement(ids))
        return self.sortie(h[:, -1])


def main():
    torch.manual_seed(0)
    torch.set_num_threads(1)
    donnees = Path("donnees")
    corpus.preparer(donnees)
    lots = sorted(donnees.glob("lot_*.jsonl"))
    journal.info(f"{len(lots)} lots trouvés dans {donnees}/, vocabulaire de {len(corpus.MOTS)} mots")
    modele = Classifieur(len(corpus.MOTS))
    optim = torch.optim.Adam(modele.parameters(), lr=3e-3)
    pas = 0
    for epoque in range(1, 4):
        journal.info(f"Époque {epoque}/3")
        for lot in lots:
            phrases = corpus.lire(lot)
            journal.info(f"Lecture de {lot.name} : {len(phrases)} phrases")
            for d in range(0, len(phrases), 8):
                morceau = phrases[d : d + 8]
                ids = torch.tensor([p["ids"] for p in morceau])
                cible = torch.tensor([p["intention"] for p in morceau])
                perte = nn.functional.cross_entropy(modele(ids), cible)
                optim.zero_grad()
                perte.backward()
                optim.step()
                time.sleep(0.1)
                pas += 1
                if pas % 10 == 0:
                    journal.info(f"pas={pas} perte={perte.item():.4f}")
        torch.save(modele.state_dict(), "modele.pt")
        journal.succes(f"Modèle enregistré après l'époque {epoque}")


if __name__ == "__main__":
    main()
