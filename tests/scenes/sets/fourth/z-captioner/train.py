import glob, os, time
import numpy as np
import torch
from accelerate import Accelerator
from accelerate.utils import set_seed


def main():
    set_seed(1)
    acc = Accelerator(cpu=True)
    torch.set_num_threads(1)
    model = torch.nn.Sequential(torch.nn.Linear(128, 256), torch.nn.GELU(), torch.nn.Linear(256, 20))
    opt = torch.optim.AdamW(model.parameters(), lr=1e-3)
    model, opt = acc.prepare(model, opt)
    first = 0
    if os.path.isdir("ckpt/latest"):
        acc.load_state("ckpt/latest")
        first = int(open("ckpt/latest/epoch").read())
        acc.print(f"resumed after epoch {first}", flush=True)
    else:
        acc.print("no checkpoint yet, starting from scratch", flush=True)
    for epoch in range(first + 1, 21):
        for step, f in enumerate(sorted(glob.glob("feats/*.npz")), 1):
            with np.load(f) as d:
                x, y = torch.from_numpy(d["x"]), torch.from_numpy(d["y"])
            loss = torch.nn.functional.cross_entropy(model(x), y)
            acc.backward(loss)
            opt.step()
            opt.zero_grad()
            time.sleep(0.7)
            acc.print(f"epoch {epoch} step {step} loss={loss.item():.4f}", flush=True)
        acc.save_state("ckpt/latest")
        with open("ckpt/latest/epoch", "w") as g:
            g.write(str(epoch))
        acc.print(f"epoch {epoch} saved", flush=True)


if __name__ == "__main__":
    main()
