import io, logging, time, urllib.request
import numpy as np, torch, yaml
from torch import nn

logging.basicConfig(level=logging.INFO, format="%(asctime)s %(levelname)s %(message)s", datefmt="%H:%M:%S")
log = logging.getLogger()


def shard(cfg, n):
    with urllib.request.urlopen(f"http://127.0.0.1:{open(cfg['port']).read()}/shard-{n:05d}.npy", timeout=60) as r:
        return torch.from_numpy(np.load(io.BytesIO(r.read())))


def main():
    cfg = yaml.safe_load(open("encoder.yaml"))
    torch.manual_seed(cfg["seed"])
    net = nn.Sequential(nn.Linear(32, 16), nn.Tanh(), nn.Linear(16, 32))
    opt = torch.optim.Adam(net.parameters(), lr=cfg["lr"])
    t_data = t_all = 0.0
    for step in range(1, cfg["steps"] + 1):
        t0 = time.perf_counter()
        x = shard(cfg, step % cfg["shards"])
        t1 = time.perf_counter()
        loss = nn.functional.mse_loss(net(x), x)
        opt.zero_grad()
        loss.backward()
        opt.step()
        time.sleep(cfg["compute"])
        t_data += t1 - t0
        t_all += time.perf_counter() - t0
        if step % cfg["every"] == 0:
            log.info("step %d/%d loss %.4f %.2f s/step (data %.2f)", step, cfg["steps"], loss.item(),
                     t_all / cfg["every"], t_data / cfg["every"])
            t_data = t_all = 0.0
        if step % 100 == 0:
            torch.save(net.state_dict(), "encoder.pt")
            log.info("saved encoder.pt")
    log.info("training finished")


main()
