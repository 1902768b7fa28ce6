"""Reconnaissance de mots épelés, CTC, entraînement « façon AMP » : perte mise à l'échelle, pas sautés si le gradient déborde."""
import logging
import os
import random
import time

import torch
import torch.nn as nn

torch.set_num_threads(1)
torch.manual_seed(8)
random.seed(8)
PACE = float(os.environ.get("PACE", "0.4"))
logging.basicConfig(level=logging.INFO, format="%(asctime)s | %(levelname)-7s | %(message)s",
                    handlers=[logging.FileHandler("asr.log", encoding="utf-8"), logging.StreamHandler()])
log = logging.getLogger("asr")
MOTS = ["bonjour", "merci", "salut", "demain", "lundi", "mardi", "porte", "table", "chaise", "jardin", "soleil", "neige"]
lettres = sorted(set("".join(MOTS)))
proto = torch.randn(len(lettres) + 1, 24)


def lot(n=12):
    xs, ys = [], []
    for _ in range(n):
        m = random.choice(MOTS)
        y = [lettres.index(c) + 1 for c in m]
        trames = [proto[k] for c in y for k in [c] * random.randint(2, 4) + [0]]
        x = torch.stack(trames)
        xs.append(x + 0.7 * torch.randn_like(x))
        ys.append(torch.tensor(y))
    lx, ly = torch.tensor([len(x) for x in xs]), torch.tensor([len(y) for y in ys])
    return nn.utils.rnn.pad_sequence(xs, True), torch.cat(ys), lx, ly


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = nn.Conv1d(24, 64, 3, padding=1)
        self.rnn = nn.GRU(64, 64, batch_first=True, bidirectional=True)
        self.out = nn.Linear(128, len(lettres) + 1)

    def forward(self, x):
        return self.out(self.rnn(torch.relu(self.conv(x.transpose(1, 2))).transpose(1, 2))[0]).log_softmax(-1)


net = Net()
ctc = nn.CTCLoss(zero_infinity=True)
opt = torch.optim.AdamW(net.parameters(), 0)
echelle, bons, sautes = 2.0 ** 17, 0, 0
log.info("paramètres : %d, échelle initiale : %g", sum(p.numel() for p in net.parameters()), echelle)
for pas in range(1, 391):
    for g in opt.param_groups:
        g["lr"] = 3e-3 * min(1, pas / 60)
    x, y, lx, ly = lot()
    lp = net(x)
    perte = ctc(lp.transpose(0, 1), y, lx, ly)
    opt.zero_grad()
    (perte * echelle).backward()
    # les gradients vivent en demi-précision : 65504 est le plus grand nombre
    for p in net.parameters():
        p.grad = p.grad.half().float()
    deborde = not all(torch.isfinite(p.grad).all() for p in net.parameters())
    time.sleep(PACE)
    if deborde:
        echelle /= 2
        bons = 0
        sautes += 1
        log.warning("pas %d : gradient inf/nan, pas sauté, échelle réduite à %g", pas, echelle)
        continue
    for p in net.parameters():
        p.grad /= echelle
    norme = nn.utils.clip_grad_norm_(net.parameters(), 5.0)
    opt.step()
    bons += 1
    if bons % 60 == 0:
        echelle *= 2
    if pas % 3 == 0:
        log.info("pas %d/390 | perte ctc %.4f | norme %.2f | lr %.2e | échelle %g", pas, perte.item(), norme.item(), g["lr"], echelle)
    if pas % 100 == 0:
        with torch.no_grad():
            x, y, lx, ly = lot(60)
            h, bon, d = net(x).argmax(-1), 0, 0
            for i in range(60):
                s = torch.unique_consecutive(h[i, :lx[i]])
                bon += s[s > 0].tolist() == y[d:d + ly[i]].tolist()
                d += int(ly[i])
        log.info("validation : mots justes %.1f %%, pas sautés jusqu'ici : %d", bon / 60 * 100, sautes)
        torch.save({"net": net.state_dict(), "opt": opt.state_dict(), "pas": pas}, "asr_dernier.pt")
log.info("terminé")
