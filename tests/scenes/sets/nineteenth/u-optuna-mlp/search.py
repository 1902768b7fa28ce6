import math, time
import optuna, torch
from torch import nn

torch.set_num_threads(1)
torch.manual_seed(0)
X = torch.randn(512, 16)
Y = (X[:, :1] * 2 - X[:, 1:2] ** 2 + 0.1 * torch.randn(512, 1))


class Net(nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        if width % heads:
            raise ValueError(f"width {width} is not divisible by heads {heads}")
        self.inp = nn.Linear(16, width)
        self.att = nn.MultiheadAttention(width, heads, batch_first=True)
        self.out = nn.Linear(width, 1)

    def forward(self, x):
        h = torch.relu(self.inp(x)).unsqueeze(1)
        h = h + self.att(h, h, h)[0]
        return self.out(h.squeeze(1))


def objective(trial):
    lr = trial.suggest_float("lr", 1e-4, 50, log=True)
    width = trial.suggest_categorical("width", [16, 24, 32])
    heads = trial.suggest_categorical("heads", [2, 3, 4])
    net = Net(width, heads)
    opt = torch.optim.SGD(net.parameters(), lr=lr)
    for epoch in range(8):
        for i in range(0, 512, 128):
            loss = ((net(X[i:i + 128]) - Y[i:i + 128]) ** 2).mean()
            opt.zero_grad()
            loss.backward()
            opt.step()
            time.sleep(0.04)
        v = loss.item()
        if not math.isfinite(v):
            print(f"  trial {trial.number}: loss is {v} in epoch {epoch} (lr {lr:.3g}), giving up on it", flush=True)
            raise optuna.TrialPruned()
        trial.report(v, epoch)
        if trial.should_prune():
            raise optuna.TrialPruned()
    return v


study = optuna.create_study(direction="minimize", sampler=optuna.samplers.TPESampler(seed=3),
                            pruner=optuna.pruners.MedianPruner(n_startup_trials=4))
study.optimize(objective, n_trials=32, catch=(ValueError,))
by = {}
for t in study.trials:
    by[t.state.name] = by.get(t.state.name, 0) + 1
print("states:", by)
print("best", study.best_value, study.best_params)
