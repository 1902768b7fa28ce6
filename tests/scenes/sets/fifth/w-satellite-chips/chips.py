# cloud masks from satellite chips; plain PyTorch, 3 loader workers
import os
import time

import torch
from torch.utils.data import DataLoader, Dataset, get_worker_info


class Chips(Dataset):
    def __len__(self):
        return 3200

    def __getitem__(self, i):
        time.sleep(0.04)                                   # read and warp
        g = torch.Generator().manual_seed(i)
        img = torch.rand(4, 16, 16, generator=g)
        return img, (img.mean(0, keepdim=True) > 0.5).float()


def on_start(worker_id):
    torch.set_num_threads(1)
    with open(f"pids/loader{worker_id}", "w") as f:
        f.write(str(os.getpid()))


def main():
    os.makedirs("pids", exist_ok=True)
    torch.manual_seed(0)
    torch.set_num_threads(1)
    net = torch.nn.Sequential(torch.nn.Conv2d(4, 8, 3, padding=1), torch.nn.ReLU(), torch.nn.Conv2d(8, 1, 1))
    opt = torch.optim.Adam(net.parameters(), lr=2e-3)
    loader = DataLoader(Chips(), batch_size=8, shuffle=True, num_workers=3, worker_init_fn=on_start,
                        persistent_workers=True, drop_last=True)
    for epoch in range(3):
        seen, t0 = 0, time.time()
        for i, (img, mask) in enumerate(loader):
            loss = torch.nn.functional.binary_cross_entropy_with_logits(net(img), mask)
            opt.zero_grad()
            loss.backward()
            opt.step()
            time.sleep(0.1)
            seen += len(img)
            if i % 20 == 19:
                print(f"epoch={epoch} chips={seen} bce={loss.item():.4f} chips/s={seen / (time.time() - t0):.1f}")
        torch.save(net.state_dict(), f"masks_e{epoch}.pt")


if __name__ == "__main__":
    main()
