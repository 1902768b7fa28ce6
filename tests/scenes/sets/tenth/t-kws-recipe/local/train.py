import argparse, logging, time
import torch
from model import TDNN, load

ap = argparse.ArgumentParser()
for k, t in dict(data=str, exp=str, epochs=int, lr=float).items():
    ap.add_argument(f"--{k}", type=t)
a = ap.parse_args()
logging.basicConfig(level=logging.INFO, format="# %(asctime)s %(filename)s:%(lineno)d %(levelname)s: %(message)s")
torch.set_num_threads(1)
torch.manual_seed(0)
xt, yt, xv, yv = load(a.data)
net = TDNN()
opt = torch.optim.Adam(net.parameters(), lr=a.lr)
ce = torch.nn.CrossEntropyLoss()
logging.info("%d utterances for training, %d held out", len(yt), len(yv))
it = 0
for e in range(a.epochs):
    net.train()
    for b, idx in enumerate(torch.randperm(len(yt)).split(16)):
        loss = ce(net(xt[idx]), yt[idx])
        opt.zero_grad(); loss.backward(); opt.step()
        it += 1
        time.sleep(0.13)
        if it % 20 == 0:
            logging.info("Epoch %d, batch %d, loss[loss=%.4f, over %d utts], lr %.4g", e, b, loss.item(), len(idx), opt.param_groups[0]["lr"])
    net.eval()
    with torch.no_grad():
        o = net(xv)
    logging.info("Epoch %d, validation: loss=%.4f, err=%.2f%%", e, ce(o, yv).item(), 100 * (o.argmax(1) != yv).float().mean().item())
    torch.save(net.state_dict(), f"{a.exp}/epoch-{e}.pt")
    for g in opt.param_groups:
        g["lr"] *= 0.85
logging.info("Done!")
