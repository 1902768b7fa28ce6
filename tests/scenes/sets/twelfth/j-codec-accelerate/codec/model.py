import torch
from torch import nn


class Codec(nn.Module):
    """Convolutional encoder, a straight-through rounding bottleneck, decoder."""

    def __init__(self, hidden):
        super().__init__()
        self.enc = nn.Sequential(
            nn.Conv1d(1, hidden, 16, stride=8, padding=4), nn.ELU(),
            nn.Conv1d(hidden, hidden, 8, stride=4, padding=2), nn.ELU(),
            nn.Conv1d(hidden, hidden, 3, padding=1),
        )
        self.prior = nn.GRU(hidden, hidden * 2, num_layers=2, batch_first=True)
        self.back = nn.Linear(hidden * 2, hidden)
        self.dec = nn.Sequential(
            nn.ConvTranspose1d(hidden, hidden, 8, stride=4, padding=2), nn.ELU(),
            nn.ConvTranspose1d(hidden, 1, 16, stride=8, padding=4),
        )

    def forward(self, wav):
        z = torch.tanh(self.enc(wav)) * 8
        q = z + (z.round() - z).detach()
        h, _ = self.prior(q.transpose(1, 2))
        guess = self.back(h[:, :-1]).transpose(1, 2)
        commit = (guess - q.detach()[:, :, 1:]).pow(2).mean()
        return self.dec(q / 8), commit
