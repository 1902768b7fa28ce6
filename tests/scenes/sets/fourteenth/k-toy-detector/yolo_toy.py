import time, datetime
import torch, torch.nn as nn
from rich.console import Console
from rich.table import Table

con = Console(width=90)
torch.manual_seed(2)
EPOCHS, STEPS = 60, 14
net = nn.Sequential(nn.Conv2d(3, 12, 3, 2, 1), nn.SiLU(), nn.Conv2d(12, 24, 3, 2, 1), nn.SiLU(),
                    nn.AdaptiveAvgPool2d(4), nn.Flatten(), nn.Linear(24 * 16, 5))
opt = torch.optim.AdamW(net.parameters(), 2e-3)


def batch(n=16):
    img = torch.randn(n, 3, 32, 32) * .3
    box = torch.rand(n, 4) * .5 + .2
    for k in range(n):
        cx, cy, w, h = (box[k] * 32).tolist()
        img[k, :, int(max(cy - h / 2, 0)):int(cy + h / 2) + 1, int(max(cx - w / 2, 0)):int(cx + w / 2) + 1] += 1
    return img, box


con.rule(f"toy detector, {EPOCHS} epochs")
for e in range(1, EPOCHS + 1):
    t, sb, so = time.time(), 0., 0.
    for _ in range(STEPS):
        img, box = batch()
        o = net(img)
        lb = nn.functional.smooth_l1_loss(o[:, :4], box) * 10
        lo = nn.functional.binary_cross_entropy_with_logits(o[:, 4], torch.ones(16))
        opt.zero_grad(); (lb + lo).backward(); opt.step()
        sb += lb.item(); so += lo.item()
        time.sleep(.16)
    tab = Table("epoch", "box_loss", "obj_loss", "lr", "time")
    tab.add_row(f"{e}/{EPOCHS}", f"{sb / STEPS:.4f}", f"{so / STEPS:.4f}", "0.002", f"{time.time() - t:.1f}s")
    con.print(tab)
    torch.save(net.state_dict(), "last.pt")
con.print(datetime.datetime.now(), "complete")
