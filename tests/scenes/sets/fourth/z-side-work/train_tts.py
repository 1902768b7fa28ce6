"""Duration model of the speech synthesis."""
import time
import torch
import torch.nn as nn
from tqdm import tqdm


class Durations(nn.Module):
    def __init__(self):
        super().__init__()
        self.emb = nn.Embedding(60, 32)
        self.conv = nn.Sequential(nn.Conv1d(32, 64, 3, padding=1), nn.ReLU(), nn.Conv1d(64, 1, 3, padding=1))

    def forward(self, ids):
        return self.conv(self.emb(ids).transpose(1, 2)).squeeze(1)


def main():
    torch.manual_seed(77)
    torch.set_num_threads(1)
    net = Durations()
    opt = torch.optim.Adam(net.parameters(), lr=2e-3)
    table = torch.rand(60) * 10
    for epoch in range(1, 6):
        bar = tqdm(range(60), desc=f"epoch {epoch}/5", mininterval=1.0)
        for _ in bar:
            ids = torch.randint(0, 60, (16, 40))
            loss = (net(ids) - table[ids]).abs().mean()
            opt.zero_grad()
            loss.backward()
            opt.step()
            time.sleep(0.25)
            bar.set_postfix(mae=f"{loss.item():.3f}")
        torch.save(net.state_dict(), f"durations_{epoch}.pt")
        tqdm.write(f"epoch {epoch}: mae {loss.item():.4f}, saved durations_{epoch}.pt")


if __name__ == "__main__":
    main()
