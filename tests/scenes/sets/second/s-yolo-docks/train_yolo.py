import os
os.environ.setdefault("OMP_NUM_THREADS", "1")
import signal
import time
import torch
from torch import nn

torch.set_num_threads(1)
torch.manual_seed(13)
signal.alarm(280)
layers = []
for i in range(12):
    layers += [nn.Linear(32, 32), nn.LayerNorm(32), nn.SiLU()]
model = nn.Sequential(*layers, nn.Linear(32, 6))
opt = torch.optim.SGD(model.parameters(), lr=0.01, momentum=0.937, nesterov=True)
print(f"YOLO-docks summary: {len(layers)} layers, {sum(p.numel() for p in model.parameters())} parameters", flush=True)
for epoch in range(1, 41):
    print(f"\n{'Epoch':>11}{'GPU_mem':>11}{'box_loss':>11}{'cls_loss':>11}{'dfl_loss':>11}{'Instances':>11}{'Size':>11}", flush=True)
    for i in range(60):
        x = torch.randn(16, 32)
        p = model(x)
        box, cls = nn.functional.smooth_l1_loss(p[:, :4], x[:, :4]), nn.functional.cross_entropy(p[:, 4:], (x[:, 5] > 0).long())
        loss = box * 2 + cls
        opt.zero_grad()
        loss.backward()
        opt.step()
        print(f"{f'{epoch}/40':>11}{'0G':>11}{box.item():>11.4f}{cls.item():>11.4f}{loss.item():>11.4f}{16:>11}{640:>11}", flush=True)
        for n, w in model.named_parameters():         # --debug-grads
            print(f"      grad {n:<12} norm {w.grad.norm().item():.4e} max {w.grad.abs().max().item():.4e}", flush=True)
        time.sleep(0.15)
    torch.save(model.state_dict(), "last.pt")
