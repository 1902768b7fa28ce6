import logging, time
import torch
from torch import nn
from feed.reader import Prefetch

logging.basicConfig(level=logging.INFO, format="%(asctime)s %(threadName)s %(levelname)s %(message)s")
log = logging.getLogger(__name__)


def main():
    torch.manual_seed(0)
    net = nn.Sequential(nn.Conv1d(2, 16, 5, padding=2), nn.ReLU(), nn.Conv1d(16, 1, 5, padding=2))
    opt = torch.optim.Adam(net.parameters(), lr=3e-3)
    feed = Prefetch("days")
    log.info("%d daily files", len(feed.files))
    feed.start()
    for step, (day, rows) in enumerate(feed, 1):
        x, y = rows[:, :2].T[None] / 50, rows[:, 2:].T[None] / 50
        for _ in range(4):
            loss = nn.functional.l1_loss(net(x), y)
            opt.zero_grad()
            loss.backward()
            opt.step()
            time.sleep(0.09)
        log.info("step %d day %s mae %.4f", step, day, loss.item())
        if step % 40 == 0:
            torch.save(net.state_dict(), "tcn.pt")
            log.info("checkpoint tcn.pt at step %d", step)
    log.info("finished after %d days", step)


if __name__ == "__main__":
    main()
