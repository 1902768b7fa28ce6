import torch
from torch.utils.data import Dataset


class Blaetter(Dataset):
    """Künstliche Blätter: drei Arten, die sich in Breite und Textur unterscheiden."""

    def __init__(self, anzahl, start):
        self.anzahl, self.start = anzahl, start

    def __len__(self):
        return self.anzahl

    def __getitem__(self, i):
        g = torch.Generator().manual_seed(self.start + i)
        art = i % 3
        y, x = torch.meshgrid(torch.linspace(-1, 1, 20), torch.linspace(-1, 1, 20), indexing="ij")
        blatt = ((x / (0.35 + 0.12 * art)) ** 2 + y ** 2 < 0.8).float()
        blatt = blatt * (1 + 0.2 * torch.sin(x * (6 + 2 * art)))
        return (blatt + 1.1 * torch.randn(20, 20, generator=g)).unsqueeze(0), art
