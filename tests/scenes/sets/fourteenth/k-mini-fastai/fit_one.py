"""my mini-fastai: learner.lr_find() then learner.fit_one_cycle()"""
import copy, math, time
import torch, torch.nn as nn, torch.nn.functional as F


class Learner:
    def __init__(self, net, data, bs=32):
        self.net, (self.x, self.y), self.bs = net, data, bs

    def batches(self):
        while True:
            for idx in torch.randperm(len(self.x)).split(self.bs):
                yield self.x[idx], self.y[idx]

    def step(self, opt, b):
        loss = F.mse_loss(self.net(b[0]).squeeze(1), b[1])
        opt.zero_grad(); loss.backward(); opt.step()
        time.sleep(.13)
        return loss.item()

    def lr_find(self, lo=1e-5, hi=10., n=100, stop_div=50):
        keep = copy.deepcopy(self.net.state_dict())
        opt = torch.optim.SGD(self.net.parameters(), lr=lo)
        best, best_lr, smooth = math.inf, lo, None
        print(f"[lr_find] {n} iterations from {lo} to {hi}")
        for i, b in zip(range(n), self.batches()):
            lr = lo * (hi / lo) ** (i / n)
            opt.param_groups[0]["lr"] = lr
            loss = self.step(opt, b)
            smooth = loss if smooth is None else .8 * smooth + .2 * loss
            if i % 4 == 0 or loss > 10:
                print(f"[lr_find] it {i:3d} lr {lr:.2e} loss {loss:.4f}")
            if smooth < best:
                best, best_lr = smooth, lr
            if not math.isfinite(loss) or smooth > stop_div * best:
                print(f"[lr_find] loss exploded at lr {lr:.2e}, stopping the search")
                break
        self.net.load_state_dict(keep)
        print(f"[lr_find] suggestion: {best_lr / 10:.2e}")
        return best_lr / 10

    def fit_one_cycle(self, epochs, lr):
        per = len(self.x) // self.bs
        opt = torch.optim.AdamW(self.net.parameters(), lr=lr)
        sch = torch.optim.lr_scheduler.OneCycleLR(opt, lr, total_steps=epochs * per)
        gen = self.batches()
        for e in range(epochs):
            tot = 0.
            for k in range(per):
                tot += self.step(opt, next(gen)); sch.step()
                if k % 10 == 9:
                    print(f"epoch {e} batch {k + 1}/{per} train_loss {tot / (k + 1):.4f} lr {sch.get_last_lr()[0]:.2e}")
            torch.save(self.net.state_dict(), "stage-1.pth")


torch.manual_seed(4)
x = torch.randn(1280, 20)
y = (x[:, :5].sum(1) * .5).sin() * 2 + x[:, 6] ** 2 * .5 + .1 * torch.randn(1280)
learn = Learner(nn.Sequential(nn.Linear(20, 64), nn.ReLU(), nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 1)), (x, y))
lr = learn.lr_find()
learn.fit_one_cycle(8, lr)
print("trained, exported stage-1.pth")
