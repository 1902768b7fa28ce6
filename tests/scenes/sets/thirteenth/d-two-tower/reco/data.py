import numpy as np, torch
def interactions(users=300, items=400, n=12000, seed=0):
    r = np.random.default_rng(seed); a = r.normal(size=(users, 4)); b = r.normal(size=(items, 4))
    u = r.integers(0, users, n); s = a[u] @ b.T + r.gumbel(size=(n, items))
    return torch.from_numpy(u), torch.from_numpy(s.argmax(1))
