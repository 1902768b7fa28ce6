import time

import numpy as np

rng = np.random.default_rng(1)
VIS, OCU, EPOCAS = 64, 40, 12


def datos(n):
    """Barras horizontales y verticales de 8x8."""
    img = np.zeros((n, 8, 8))
    for m in img:
        for k in range(8):
            if rng.random() < 0.2:
                m[k, :] = 1
            if rng.random() < 0.2:
                m[:, k] = 1
    return img.reshape(n, VIS)


def sigma(x):
    return 1 / (1 + np.exp(-x))


w = rng.normal(scale=0.02, size=(VIS, OCU))
a, b = np.zeros(VIS), np.zeros(OCU)
x = datos(1200)
print(f"Inicio: {len(x)} imágenes, {OCU} unidades ocultas")
for epoca in range(1, EPOCAS + 1):
    inicio, error = time.time(), []
    for i in range(0, len(x), 80):
        v = x[i : i + 80]
        h = sigma(v @ w + b)
        v1 = sigma((h > rng.random(h.shape)) @ w.T + a)
        h1 = sigma(v1 @ w + b)
        w += 0.4 * (v.T @ h - v1.T @ h1) / len(v)
        a += 0.4 * (v - v1).mean(0)
        b += 0.4 * (h - h1).mean(0)
        error.append(((v - v1) ** 2).mean())
        time.sleep(0.24)
    print(f"Época {epoca:02d}/{EPOCAS} | error de reconstrucción: {np.mean(error):.5f} | {time.time() - inicio:.1f} s")
    np.savez("rbm.npz", w=w, a=a, b=b)
print("Entrenamiento terminado, pesos en rbm.npz")
