import time, torch
from torch import nn
torch.set_num_threads(1); torch.manual_seed(0)
net = nn.Sequential(nn.Linear(20, 64), nn.ReLU(), nn.Linear(64, 5)); opt = torch.optim.SGD(net.parameters(), .05, momentum=.9)
scaler = torch.amp.GradScaler("cpu", init_scale=2.0 ** 22, growth_interval=40)
W = torch.randn(20, 5); skipped = 0
for step in range(1, 251):
    x = torch.randn(64, 20); y = (x @ W).argmax(1)
    with torch.autocast("cpu", dtype=torch.float16):
        loss = nn.functional.cross_entropy(net(x), y)
    opt.zero_grad(); scaler.scale(loss).backward()
    # gradients live in half precision on the accelerator
    for p in net.parameters(): p.grad = p.grad.half().float()
    before = scaler.get_scale(); scaler.step(opt); scaler.update(); after = scaler.get_scale()
    time.sleep(.13)
    if after < before:
        skipped += 1
        print(f"[amp] OVERFLOW! gradients contain inf/nan, skipping step {step}. Attempted loss scale: {before:.0f}, reducing to {after:.0f}")
    if step % 5 == 0:
        print(f"step {step:4d} | loss {loss.item():.4f} | loss_scale {after:.0f} | skipped {skipped}")
torch.save(net.state_dict(), "amp.pt"); print("finished;", skipped, "of 250 steps were skipped")
