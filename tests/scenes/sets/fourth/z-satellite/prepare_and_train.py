"""Cuts satellite scenes into patches (once, takes a while), then trains with a loader that restarts its workers every epoch."""
import logging, multiprocessing as mp, os, shutil, sys, time
import numpy as np
import torch
from torch.utils.data import DataLoader, Dataset

logging.basicConfig(level=logging.INFO, stream=sys.stderr, format="%(levelname)s:%(name)s:%(message)s")
log = logging.getLogger("satellite")


def cut(k):
    r = np.random.default_rng(k)
    if k % 9 == 4:
        return k, None                       # clouds
    patches = r.normal(size=(40, 4, 16, 16)).astype("float32")
    time.sleep(1.0)
    np.save(f"patches/{k:03d}.npy", patches)
    return k, len(patches)


class Patches(Dataset):
    def __init__(self):
        self.files = sorted(os.listdir("patches"))

    def __len__(self):
        return len(self.files) * 8

    def __getitem__(self, i):
        a = np.load(os.path.join("patches", self.files[i // 8]))[(i % 8) * 5:(i % 8) * 5 + 5]
        time.sleep(0.02)
        x = torch.from_numpy(a.copy())
        return x, (x[:, 0].mean((1, 2)) > 0).float()


def main():
    torch.set_num_threads(1)
    torch.manual_seed(4)
    os.makedirs("patches", exist_ok=True)
    log.info("cutting 54 scenes with 2 processes")
    cloudy = 0
    with mp.get_context("fork").Pool(2, maxtasksperchild=6) as pool:
        for k, n in pool.imap_unordered(cut, range(54)):
            if n is None:
                cloudy += 1
                log.warning("scene %03d: no usable pixels, skipped", k)
    log.info("cut done, %d scenes dropped", cloudy)
    net = torch.nn.Sequential(torch.nn.Conv2d(4, 16, 3, stride=2), torch.nn.ReLU(), torch.nn.Flatten(),
                              torch.nn.Linear(16 * 49, 1))
    opt = torch.optim.Adam(net.parameters(), lr=2e-3)
    for epoch in range(1, 6):
        total, n, t0 = 0.0, 0, time.time()
        for x, y in DataLoader(Patches(), batch_size=8, shuffle=True, num_workers=2):
            x, y = x.flatten(0, 1), y.flatten()
            loss = torch.nn.functional.binary_cross_entropy_with_logits(net(x).squeeze(1), y)
            opt.zero_grad()
            loss.backward()
            opt.step()
            total, n = total + loss.item(), n + 1
            time.sleep(0.12)
        os.makedirs(f"ckpt/epoch{epoch}")
        torch.save({"net": net.state_dict(), "opt": opt.state_dict(), "epoch": epoch}, f"ckpt/epoch{epoch}/state.pt")
        if epoch > 1:
            shutil.rmtree(f"ckpt/epoch{epoch - 1}")
        log.info("epoch %d bce %.4f (%d batches, %.1f s)", epoch, total / n, n, time.time() - t0)
    shutil.rmtree("patches")
    log.info("removed the patches, finished")


if __name__ == "__main__":
    main()
