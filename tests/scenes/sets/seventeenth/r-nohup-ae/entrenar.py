# Autoencoder para vibraciones de rodamientos (taller de robótica)
import logging
import time

import torch
from torch import nn

torch.set_num_threads(1)
torch.manual_seed(3)
logging.basicConfig(level=logging.INFO, format="%(asctime)s [%(levelname)s] %(message)s")


class Auto(nn.Module):
    def __init__(self, n=80, k=8):
        super().__init__()
        self.cod = nn.Sequential(nn.Linear(n, 40), nn.ELU(), nn.Linear(40, k))
        self.dec = nn.Sequential(nn.Linear(k, 40), nn.ELU(), nn.Linear(40, n))

    def forward(self, x):
        return self.dec(self.cod(x))


def lote(n=32):
    t = torch.linspace(0, 1, 80)
    f = torch.rand(n, 1) * 6 + 2
    fase = torch.rand(n, 1) * 6.28
    return torch.sin(6.28 * f * t + fase) + 0.1 * torch.randn(n, 80)


def main():
    red = Auto()
    opt = torch.optim.Adam(red.parameters(), 2e-3)
    logging.info("parámetros: %d", sum(p.numel() for p in red.parameters()))
    for epoca in range(1, 201):
        suma = 0.0
        for _ in range(10):
            x = lote()
            perdida = nn.functional.mse_loss(red(x), x)
            opt.zero_grad()
            perdida.backward()
            opt.step()
            suma += perdida.item()
            time.sleep(0.1)
        logging.info("época %d/200 pérdida=%.5f", epoca, suma / 10)
        if epoca % 10 == 0:
            torch.save(red.state_dict(), "auto.pt")
            logging.info("modelo guardado en auto.pt")
    logging.info("entrenamiento terminado")


if __name__ == "__main__":
    main()
