"""Hyper-parameter study, one trial after another in this process; median pruning."""
import logging, math, random, statistics, time, traceback
import torch
import torch.nn as nn

logging.basicConfig(level=logging.INFO, format="[%(levelname).1s %(asctime)s] %(message)s")


class TrialPruned(Exception):
    pass


class Trial:
    def __init__(self, study, number):
        self.study, self.number, self.seen = study, number, {}
        rng = random.Random(100 + number)
        self.lr = [4e-3, 1e-3, 2e6, 2e-4, 8e-3, 1e-5, 2e-3, 2e-2, 3e6, 5e-3][number]
        self.kernel = rng.choice([3, 5, 7])

    def report(self, value, epoch):
        self.seen[epoch] = value
        others = [t.seen[epoch] for t in self.study if epoch in t.seen and t is not self and math.isfinite(t.seen[epoch])]
        if epoch >= 3 and len(others) >= 2 and value > statistics.median(others):
            raise TrialPruned(f"epoch {epoch}: {value:.4f} is worse than the median {statistics.median(others):.4f}")


def objective(trial):
    torch.manual_seed(trial.number)
    net = nn.Sequential(nn.Conv1d(1, 16, trial.kernel, padding="same"), nn.ReLU(),
                        nn.Conv1d(16, 1, trial.kernel, padding="same"))
    opt = torch.optim.Adam(net.parameters(), lr=trial.lr)
    for epoch in range(1, 9):
        total = 0.0
        for _ in range(8):
            t = torch.rand(16, 1, 1) * 6 + torch.linspace(0, 6, 64)
            clean = torch.sin(2 * t) + 0.5 * torch.sin(5 * t)
            loss = (net(clean + 0.4 * torch.randn_like(clean)) - clean).pow(2).mean()
            opt.zero_grad()
            loss.backward()
            opt.step()
            total += loss.item()
            time.sleep(0.12)
        logging.info("trial %d epoch %d loss %.5g", trial.number, epoch, total / 8)
        if not math.isfinite(total) or total / 8 > 1e6:
            raise ValueError(f"The value {total / 8} is not acceptable")
        trial.report(total / 8, epoch)
    return total / 8


def main():
    torch.set_num_threads(1)
    study, best = [], (math.inf, None)
    for number in range(10):
        trial = Trial(study, number)
        study.append(trial)
        try:
            value = objective(trial)
        except TrialPruned as e:
            logging.info("Trial %d pruned. %s", number, e)
        except ValueError as e:
            logging.warning("Trial %d failed with parameters: {'lr': %g, 'kernel': %d} because of the following error: %r.\n%s",
                            number, trial.lr, trial.kernel, e, traceback.format_exc())
        else:
            best = min(best, (value, number))
            logging.info("Trial %d finished with value: %.5f and parameters: {'lr': %g, 'kernel': %d}. Best is trial %d with value: %.5f.",
                         number, value, trial.lr, trial.kernel, best[1], best[0])
    logging.info("study finished after %d trials, best %.5f (trial %d)", len(study), *best)


if __name__ == "__main__":
    main()
