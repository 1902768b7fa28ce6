import sys

import torch

from ocr.model import Lector

red = Lector()
red.load_state_dict(torch.load(sys.argv[1]))
print(f"Exportando {sys.argv[1]} a TorchScript")
torch.jit.script(red.eval()).save(sys.argv[2])
print(f"Exportado: {sys.argv[2]}")
