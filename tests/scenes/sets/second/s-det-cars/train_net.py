import os
os.environ.setdefault("OMP_NUM_THREADS", "1")
import logging
import time
import torch
from torch import nn

torch.set_num_threads(1)
torch.manual_seed(4)
logging.basicConfig(level=logging.INFO, format="[%(asctime)s %(name)s]: %(message)s", datefmt="%m/%d %H:%M:%S")
log = logging.getLogger("d2.utils.events")
ckpt_log = logging.getLogger("d2.checkpoint")
MAX_ITER, PERIOD = 560, 60
model = nn.Sequential(nn.Linear(40, 64), nn.ReLU(), nn.Linear(64, 5))
opt = torch.optim.SGD(model.parameters(), lr=0.02, momentum=0.9)
sched = torch.optim.lr_scheduler.MultiStepLR(opt, [400, 500], 0.1)


def save(name, it):
    path = f"scratch/output/{name}.pth"
    try:
        os.makedirs("scratch/output", exist_ok=True)
        with open(path + ".tmp", "wb") as f:
            torch.save({"model": model.state_dict(), "optimizer": opt.state_dict(), "iteration": it}, f)
        os.replace(path + ".tmp", path)
        ckpt_log.info("Saving checkpoint to %s", path)
    except OSError as e:
        # the storage is flaky at times, do not lose the run over one save
        ckpt_log.warning("could not write %s: %s", path, e)


for it in range(MAX_ITER):
    x = torch.randn(32, 40)
    loss = nn.functional.cross_entropy(model(x), x[:, :5].argmax(1))
    opt.zero_grad()
    loss.backward()
    opt.step()
    sched.step()
    time.sleep(0.15)
    if it % 20 == 19:
        eta = int((MAX_ITER - it) * 0.152)
        log.info(" eta: 0:%02d:%02d  iter: %d  total_loss: %.4f  loss_cls: %.4f  time: 0.1520  data_time: 0.0011  lr: %.5f",
                 eta // 60, eta % 60, it, loss.item(), loss.item(), opt.param_groups[0]["lr"])
    if it % PERIOD == PERIOD - 1:
        save(f"model_{it:07d}", it)
save("model_final", MAX_ITER)
