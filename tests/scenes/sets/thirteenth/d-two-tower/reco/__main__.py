import json, time, torch
from tqdm import tqdm
from .data import interactions
from .model import TwoTower
torch.manual_seed(1); torch.set_num_threads(1)
u, i = interactions(); tu, ti, vu, vi = u[:10000], i[:10000], u[10000:], i[10000:]
m = TwoTower(); opt = torch.optim.Adam(m.parameters(), 1e-2); log = open("metrics.jsonl", "a")
for epoch in range(10):
    bar = tqdm(torch.randperm(10000).split(250), desc=f"epoch {epoch}", ncols=90)
    for k in bar:
        loss = m.loss(tu[k], ti[k]); opt.zero_grad(); loss.backward(); opt.step()
        bar.set_postfix(loss=f"{loss.item():.3f}"); time.sleep(.09)
    with torch.no_grad(): hit = (m.scores(vu).topk(20, 1).indices == vi[:, None]).any(1).float().mean().item()
    log.write(json.dumps({"epoch": epoch, "loss": loss.item(), "hit@20": hit, "t": time.time()}) + "\n"); log.flush()
    torch.save({"model": m.state_dict(), "opt": opt.state_dict(), "epoch": epoch}, "last.pt")
    tqdm.write(f"epoch {epoch} hit@20 {hit:.4f} saved last.pt")
