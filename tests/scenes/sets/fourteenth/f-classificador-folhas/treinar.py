import random
import time
import numpy as np
import torch
from PIL import Image
from torch import nn
from dados import baixar

torch.manual_seed(0)
random.seed(0)
arquivos = baixar()
random.shuffle(arquivos)
treino, valid = arquivos[:300], arquivos[300:]
print(f"{len(treino)} imagens de treino, {len(valid)} de validação")
if not torch.cuda.is_available():
    print("AVISO: GPU não disponível, usando CPU (vai demorar)")


def carregar(lote):
    xs, ys = [], []
    for a in lote:
        try:
            xs.append(np.asarray(Image.open(a).convert("RGB"), dtype="float32") / 255 - 0.5)
            ys.append(int(a.parent.name[-1]))
        except Exception as e:
            print(f"ERRO ao ler {a}: {e} -- pulando esta imagem")
    return torch.tensor(np.stack(xs)).permute(0, 3, 1, 2), torch.tensor(ys)


rede = nn.Sequential(nn.Conv2d(3, 8, 3, 2), nn.ReLU(), nn.Conv2d(8, 16, 3, 2), nn.ReLU(), nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(16, 6))
otim = torch.optim.Adam(rede.parameters(), lr=4e-3)
EPOCAS, LOTE = 12, 20
melhor = 0
for ep in range(1, EPOCAS + 1):
    random.shuffle(treino)
    rede.train()
    soma = 0.0
    for b in range(0, len(treino), LOTE):
        x, y = carregar(treino[b:b + LOTE])
        perda = nn.functional.cross_entropy(rede(x), y)
        otim.zero_grad()
        perda.backward()
        otim.step()
        soma += perda.item()
        time.sleep(0.25)
    rede.eval()
    with torch.no_grad():
        x, y = carregar(valid)
        acc = (rede(x).argmax(1) == y).float().mean().item()
    print(f"Época {ep:02d}/{EPOCAS} | perda: {soma / (len(treino) // LOTE):.4f} | acurácia val.: {acc:.3f}")
    if acc > melhor:
        melhor = acc
        torch.save(rede.state_dict(), "melhor.pt")
        print("  -> novo melhor modelo salvo em melhor.pt")
print(f"Treinamento concluído! Melhor acurácia: {melhor:.3f}")
