import copy, logging, os, random, time
import torch
from torch import nn
torch.set_num_threads(1); torch.manual_seed(2); random.seed(2)
logging.basicConfig(level=logging.INFO, format="%(asctime)s %(levelname)-7s %(name)s: %(message)s")
log_s, log_t, log_a = (logging.getLogger(n) for n in ("selfplay", "train", "arena"))
LINES = [(0,1,2),(3,4,5),(6,7,8),(0,3,6),(1,4,7),(2,5,8),(0,4,8),(2,4,6)]

def winner(b):
    for i, j, k in LINES:
        if b[i] and b[i] == b[j] == b[k]:
            return b[i]
    return 0

def pick(net, b, me, greedy=False):
    free = [i for i in range(9) if not b[i]]
    with torch.no_grad():
        p = net(torch.tensor([[float(v * me) for v in b]]))[0]
    q = p[free]
    return free[int(q.argmax())] if greedy else free[int(torch.multinomial(torch.softmax(q, 0), 1))]

def game(a, c, greedy=False):
    b, me, hist = [0] * 9, 1, []
    while True:
        m = pick(a if me == 1 else c, b, me, greedy and random.random() > .2)
        hist.append(([v * me for v in b], m, me)); b[m] = me
        w = winner(b)
        if w or all(b):
            return w, hist
        me = -me

net = nn.Sequential(nn.Linear(9, 64), nn.ReLU(), nn.Linear(64, 9))
best = copy.deepcopy(net)
os.makedirs("ckpt", exist_ok=True)
for gen in range(1, 13):
    data = []
    for g in range(40):
        w, h = game(best, best)
        data += [(s, m, w * me) for s, m, me in h if w]
        time.sleep(.02)
    log_s.info("generation %d: 40 games, %d positions", gen, len(data))
    opt = torch.optim.Adam(net.parameters(), 4e-3)
    S = torch.tensor([d[0] for d in data]).float(); A = torch.tensor([d[1] for d in data]); R = torch.tensor([d[2] for d in data]).float()
    for ep in range(6):
        loss = (nn.functional.cross_entropy(net(S), A, reduction="none") * R).mean()
        opt.zero_grad(); loss.backward(); opt.step(); time.sleep(.08)
    log_t.info("generation %d: policy loss %.4f", gen, loss.item())
    w = l = 0
    for g in range(24):
        r = game(net, best, True)[0] if g % 2 == 0 else -game(best, net, True)[0]
        w += r > 0; l += r < 0; time.sleep(.02)
    rate = w / max(1, w + l)
    if rate >= .55:
        best = copy.deepcopy(net); torch.save(best.state_dict(), "ckpt/champion.pt")
        log_a.info("candidate ACCEPTED: %d wins, %d losses (%.0f%%), new champion", w, l, 100 * rate)
    else:
        net = copy.deepcopy(best)
        log_a.warning("candidate REJECTED: %d wins, %d losses (%.0f%%), weights rolled back", w, l, 100 * rate)
log_s.info("finished 12 generations")
