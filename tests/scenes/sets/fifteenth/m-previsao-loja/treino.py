import argparse, sys, time
import numpy as np, torch, torch.nn as nn


def gera_series(n_lojas, dias, seed=5):
    rng = np.random.default_rng(seed)
    t = np.arange(dias)
    base = rng.uniform(50, 400, (n_lojas, 1))
    x = base * (1 + 0.3 * np.sin(2 * np.pi * t / 7) + 0.1 * rng.standard_normal((n_lojas, dias)))
    # loja 37 fechou para obras no fim do período
    x[37, 150:] = 0.0
    return x.astype("float32")


def janelas(x, comprimento, passo):
    for ini in range(0, x.shape[1] - comprimento - 1, passo):
        for lote in np.array_split(np.arange(len(x)), 6):
            j = x[lote, ini:ini + comprimento + 1]
            mu, sd = j[:, :-1].mean(1, keepdims=True), j[:, :-1].std(1, keepdims=True)
            j = (j - mu) / sd
            yield torch.from_numpy(j[:, :-1, None]), torch.from_numpy(j[:, -1:])


class Rede(nn.Module):
    def __init__(self, h=24):
        super().__init__()
        self.gru = nn.GRU(1, h, batch_first=True)
        self.saida = nn.Linear(h, 1)

    def forward(self, x):
        return self.saida(self.gru(x)[0][:, -1])


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--lojas", type=int, default=60)
    ap.add_argument("--dias", type=int, default=220)
    ap.add_argument("--epocas", type=int, default=2)
    a = ap.parse_args()
    torch.manual_seed(0)
    np.seterr(all="ignore")
    x = gera_series(a.lojas, a.dias)
    print(f"[previsao] {a.lojas} lojas, {a.dias} dias, dispositivo: cpu", flush=True)
    rede = Rede()
    opt = torch.optim.Adam(rede.parameters(), lr=2e-3)
    passo = 0
    for epoca in range(1, a.epocas + 1):
        perdas = []
        for xb, yb in janelas(x, 28, 4):
            perda = nn.functional.smooth_l1_loss(rede(xb), yb)
            opt.zero_grad()
            perda.backward()
            nn.utils.clip_grad_norm_(rede.parameters(), 1.0)
            opt.step()
            passo += 1
            perdas.append(perda.item())
            time.sleep(0.17)
            if passo % 4 == 0:
                print(f"época {epoca}/{a.epocas} passo {passo} perda={perda.item():.5f}", flush=True)
        print(f"época {epoca} concluída, perda média={np.mean(perdas):.5f}", flush=True)
        torch.save(rede.state_dict(), f"rede_epoca{epoca}.pt")
        print(f"modelo salvo em rede_epoca{epoca}.pt", flush=True)


if __name__ == "__main__":
    sys.exit(main())
