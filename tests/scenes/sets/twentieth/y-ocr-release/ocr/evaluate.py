import sys
import time

import torch

from ocr.model import Lector, muestras

red = Lector()
red.load_state_dict(torch.load(sys.argv[1]))
red.eval()
g = torch.Generator().manual_seed(99)
bien = total = 0
with torch.no_grad():
    for lote in range(1, 9):
        x, y, _ = muestras(64, g)
        bien += (red(x, cabezas=("letra",))["letra"].argmax(1) == y).sum().item()
        total += len(y)
        time.sleep(0.3)
        print(f"Evaluación lote {lote}/8 exactitud {bien / total:.4f}")
