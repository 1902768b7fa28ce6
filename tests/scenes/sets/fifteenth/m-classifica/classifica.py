import logging, sys, time
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset, random_split
from accelerate import Accelerator
from accelerate.utils import set_seed
from tqdm import tqdm

logging.basicConfig(stream=sys.stdout, level=logging.INFO, format="%(asctime)s [%(levelname)s] %(message)s")
log = logging.getLogger("classifica")
EPOCAS = 4


def dados(n=1600):
    x = torch.randint(5, 400, (n, 30))
    y = torch.randint(0, 5, (n,))
    x[torch.arange(n), torch.randint(0, 30, (n,))] = y
    return TensorDataset(x, y)


class Modelo(nn.Module):
    def __init__(self):
        super().__init__()
        self.emb = nn.EmbeddingBag(400, 48, mode="max")
        self.saida = nn.Sequential(nn.Dropout(0.1), nn.Linear(48, 5))

    def forward(self, x):
        return self.saida(self.emb(x))


def avalia(acc, modelo, dl):
    modelo.eval()
    certo = total = 0
    with torch.no_grad():
        for x, y in dl:
            p, y = acc.gather_for_metrics((modelo(x).argmax(1), y))
            certo += (p == y).sum().item()
            total += len(y)
            time.sleep(0.05)
    modelo.train()
    return certo / total


def main():
    set_seed(13)
    acc = Accelerator(cpu=True, gradient_accumulation_steps=2)
    treino, teste = random_split(dados(), [1300, 300])
    modelo = Modelo()
    opt = torch.optim.Adam(modelo.parameters(), lr=1e-2)
    modelo, opt, dl, dlt = acc.prepare(modelo, opt, DataLoader(treino, 16, shuffle=True), DataLoader(teste, 32))
    log.info("início do treino: %d exemplos, %d épocas", len(treino), EPOCAS)
    melhor = 0.0
    for ep in range(1, EPOCAS + 1):
        barra = tqdm(dl, desc=f"Época {ep}", leave=False, ncols=90, mininterval=0.5)
        soma = 0.0
        for i, (x, y) in enumerate(barra, 1):
            with acc.accumulate(modelo):
                perda = nn.functional.cross_entropy(modelo(x), y)
                acc.backward(perda)
                opt.step()
                opt.zero_grad()
            soma += perda.item()
            barra.set_postfix(perda=f"{soma / i:.3f}")
            time.sleep(0.16)
        ac = avalia(acc, modelo, dlt)
        log.info("época %d/%d: perda %.4f, acurácia de validação %.3f", ep, EPOCAS, soma / len(dl), ac)
        if ac > melhor:
            melhor = ac
            acc.save_state("melhor")
            log.info("novo melhor modelo (%.3f), salvo em melhor/", ac)
    log.info("treino concluído, melhor acurácia %.3f", melhor)


main()
