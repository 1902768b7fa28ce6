import torch


def bilder(n, groesse, arten, seed):
    g = torch.Generator().manual_seed(seed)
    y = torch.randint(0, arten, (n,), generator=g)
    x = torch.randn(n, 1, groesse, groesse, generator=g) * 0.6
    for i, art in enumerate(y.tolist()):
        r = int(torch.randint(2, groesse - 8, (1,), generator=g))
        c = int(torch.randint(2, groesse - 8, (1,), generator=g))
        if art == 1:
            x[i, 0, r, c:c + 7] += 2
        elif art == 2:
            x[i, 0, r:r + 7, c] += 2
        elif art == 3:
            x[i, 0, r:r + 3, c:c + 3] += 2
    return x, y
