# Kleines Netz ohne Framework: Drehmoment-Vorhersage am Roboterarm
import sys
import time

import numpy as np

rng = np.random.default_rng(11)
N, D, H = 2000, 12, 64


def daten():
    X = rng.normal(size=(N, D))
    w = rng.normal(size=(D, 1))
    y = np.sin(X @ w) + 0.05 * rng.normal(size=(N, 1))
    return X, y


class Netz:
    def __init__(self):
        self.W1 = rng.normal(size=(D, H)) / np.sqrt(D)
        self.b1 = np.zeros(H)
        self.W2 = rng.normal(size=(H, 1)) / np.sqrt(H)
        self.b2 = np.zeros(1)

    def vor(self, X):
        self.a = X @ self.W1 + self.b1
        self.h = np.maximum(self.a, 0.1 * self.a)
        return self.h @ self.W2 + self.b2

    def zurueck(self, X, d):
        gW2 = self.h.T @ d
        dh = d @ self.W2.T * np.where(self.a > 0, 1.0, 0.1)
        return X.T @ dh, dh.sum(0), gW2, d.sum(0)


def lernrate(epoche):
    # Stufenplan aus dem Labor: langsam anfangen, dann grob, dann fein
    if epoche <= 20:
        return 0.005
    if epoche <= 60:
        return 0.8
    return 0.01


def main():
    X, y = daten()
    n = Netz()
    print(f"Daten: {N} Beispiele, {D} Merkmale, {H} versteckte Einheiten")
    for ep in range(1, 101):
        eta = lernrate(ep)
        fehler = []
        for b in range(0, N, 100):
            xb, yb = X[b:b + 100], y[b:b + 100]
            p = n.vor(xb)
            fehler.append(float(np.mean((p - yb) ** 2)))
            d = 2 * (p - yb) / len(xb)
            g = n.zurueck(xb, d)
            for par, gr in zip((n.W1, n.b1, n.W2, n.b2), g):
                par -= eta * gr
            time.sleep(0.04)
        print(f"Epoche {ep:3d}/100  Lernrate {eta:g}  Verlust {np.mean(fehler):.5f}", flush=True)
        np.savez("netz.npz", W1=n.W1, b1=n.b1, W2=n.W2, b2=n.b2)
    print("Fertig.")


if __name__ == "__main__":
    sys.exit(main())
