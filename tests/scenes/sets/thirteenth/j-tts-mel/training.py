import logging
import sys
import time

import torch
from torch import nn

logging.basicConfig(stream=sys.stdout, level=logging.INFO, format="%(asctime)s %(levelname)-5s %(message)s", datefmt="%d.%m. %H:%M:%S")
k = dict(a.split("=") for a in sys.argv[1:])
RATE, RATE2, STUFE2, SCHRITTE = float(k["rate"]), float(k["rate2"]), int(k["stufe2"]), int(k["schritte"])
torch.manual_seed(11)
torch.set_num_threads(1)


class TextZuMel(nn.Module):
    def __init__(self, zeichen=40, d=96):
        super().__init__()
        self.e = nn.Embedding(zeichen, d)
        self.c = nn.Sequential(nn.Conv1d(d, d, 5, padding=2), nn.ReLU(), nn.Conv1d(d, d, 5, padding=2), nn.ReLU(), nn.Conv1d(d, 80, 1))

    def forward(self, t):
        return self.c(self.e(t).transpose(1, 2))


lehrer = torch.randn(40, 80)
modell = TextZuMel()
opt = torch.optim.Adam(modell.parameters(), lr=RATE)
logging.info("Parameter: %d, Stufe 1 bis Schritt %d", sum(p.numel() for p in modell.parameters()), STUFE2)
beginn = time.time()
for schritt in range(1, SCHRITTE + 1):
    if schritt == STUFE2:
        opt.param_groups[0]["lr"] = RATE2
        logging.info("Stufe 2: Feinabstimmung")
    text = torch.randint(0, 40, (8, 32))
    mel = lehrer[text].transpose(1, 2) + 0.05 * torch.randn(8, 80, 32)
    verlust = nn.functional.mse_loss(modell(text), mel)
    opt.zero_grad()
    verlust.backward()
    norm = nn.utils.clip_grad_norm_(modell.parameters(), 1.0)
    opt.step()
    time.sleep(0.1)
    if schritt % 10 == 0:
        logging.info("Schritt %d von %d: Verlust %.4f, Gradient %.2f, Rate %.2e, %.1f s", schritt, SCHRITTE, verlust.item(), norm, opt.param_groups[0]["lr"], time.time() - beginn)
    if schritt % 200 == 0:
        torch.save(modell.state_dict(), "modell_letzter.pt")
        logging.info("Modell gesichert")
