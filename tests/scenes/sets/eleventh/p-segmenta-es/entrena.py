# Segmentación de parcelas: entrenamiento con bucle propio
import csv
import time
import warnings

import numpy as np
import torch
from transformers import SegformerConfig, SegformerForSemanticSegmentation

warnings.simplefilter("default")
CLASES = ["fondo", "viña", "olivo", "agua", "invernadero"]
EPOCAS, LOTES, TAM = 9, 40, 32
gen = torch.Generator().manual_seed(8)


def lote(n, con_agua=True):
    x = 0.2 * torch.randn(n, 3, TAM, TAM, generator=gen)
    y = torch.zeros(n, TAM, TAM, dtype=torch.long)
    for i in range(n):
        for c in range(1, 4 if con_agua else 3):
            a, b = torch.randint(0, TAM - 12, (2,), generator=gen).tolist()
            y[i, a:a + 10, b:b + 10] = c
            x[i, :, a:a + 10, b:b + 10] = 0.2 * torch.randn(3, 10, 10, generator=gen)
            x[i, c - 1, a:a + 10, b:b + 10] += 1
    return x, y


def iou(modelo):
    inter, union = np.zeros(5), np.zeros(5)
    with torch.no_grad():
        for _ in range(4):
            x, y = lote(8, con_agua=False)
            p = torch.nn.functional.interpolate(modelo(pixel_values=x).logits, size=(TAM, TAM)).argmax(1)
            for c in range(5):
                inter[c] += ((p == c) & (y == c)).sum().item()
                union[c] += ((p == c) | (y == c)).sum().item()
    return inter / union


modelo = SegformerForSemanticSegmentation(SegformerConfig(
    num_encoder_blocks=2, depths=[1, 1], sr_ratios=[2, 1], hidden_sizes=[16, 32], patch_sizes=[3, 3], strides=[2, 2],
    num_attention_heads=[1, 2], mlp_ratios=[2, 2], decoder_hidden_size=32, num_labels=len(CLASES)))
opt = torch.optim.AdamW(modelo.parameters(), lr=2e-3)
hoja = open("metricas.csv", "w", newline="", buffering=1)
tabla = csv.writer(hoja, delimiter=";")
tabla.writerow(["epoca", "perdida", "iou_medio"] + CLASES)
print(f"Modelo con {sum(p.numel() for p in modelo.parameters())} parámetros; {EPOCAS} épocas de {LOTES} lotes", flush=True)
for epoca in range(1, EPOCAS + 1):
    modelo.train()
    suma, inicio = 0.0, time.time()
    for k in range(1, LOTES + 1):
        x, y = lote(4)
        perdida = modelo(pixel_values=x, labels=y).loss
        perdida.backward()
        opt.step()
        opt.zero_grad()
        suma += perdida.item()
        time.sleep(0.1)
        if k % 20 == 0:
            print(f"  época {epoca} lote {k:>3}/{LOTES}  pérdida {perdida.item():.4f}", flush=True)
    modelo.eval()
    v = iou(modelo)
    print(f"Época {epoca}/{EPOCAS} terminada en {time.time() - inicio:.1f} s: pérdida media {suma / LOTES:.4f}", flush=True)
    print("  IoU por clase: " + ", ".join(f"{c} {x:.3f}" for c, x in zip(CLASES, v)) + f"; media {np.nanmean(v):.3f}", flush=True)
    tabla.writerow([epoca, f"{suma / LOTES:.5f}", f"{np.nanmean(v):.4f}"] + [f"{x:.4f}" for x in v])
    torch.save(modelo.state_dict(), "ultimo.pt")
print("Entrenamiento terminado.", flush=True)
