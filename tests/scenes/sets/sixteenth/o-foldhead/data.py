"""Toy chains: residues plus CA coordinates; homo-oligomers are stored after symmetry expansion."""
import torch
from torch.utils.data import Dataset


class Chains(Dataset):
    def __init__(self, n, length, seed):
        g = torch.Generator().manual_seed(seed)
        self.res = torch.randint(1, 21, (n, length), generator=g)
        step = torch.randn(n, length, 3, generator=g)
        step = 3.8 * step / step.norm(dim=-1, keepdim=True)
        self.xyz = step.cumsum(1)
        self.first_dimer = int(n * 0.72)

    def __len__(self):
        return len(self.res)

    def __getitem__(self, i):
        res, xyz = self.res[i], self.xyz[i]
        if i >= self.first_dimer:  # dimer entries: second half is the symmetry mate of the first
            half = len(res) // 2
            res = torch.cat([res[:half], res[:half]])
        return {"input_ids": res, "labels": xyz, "sample_id": torch.tensor(i)}
