# adapted from pytorch/examples/imagenet
import argparse
import time

import torch
import torch.nn as nn
import torch.nn.functional as F

p = argparse.ArgumentParser()
p.add_argument("--epochs", default=30, type=int)
p.add_argument("-b", "--batch-size", default=64, type=int)
p.add_argument("--lr", default=0.08, type=float)
p.add_argument("--momentum", default=0.9, type=float)
p.add_argument("--half", action="store_true")
p.add_argument("-p", "--print-freq", default=10, type=int)
args = p.parse_args()
CLASSES = 12


class AverageMeter:
    def __init__(self, name, fmt=":f"):
        self.name, self.fmt = name, fmt
        self.val = self.sum = self.count = self.avg = 0

    def update(self, val, n=1):
        self.val = val
        self.sum += val * n
        self.count += n
        self.avg = self.sum / self.count

    def __str__(self):
        return ("{name} {val" + self.fmt + "} ({avg" + self.fmt + "})").format(**self.__dict__)


def make_birds(n):
    centers = torch.randn(CLASSES, 48) * 0.9
    y = torch.randint(0, CLASSES, (n,))
    return centers[y] + torch.randn(n, 48), y


def soft_ce(logits, target, smoothing=0.0):
    """cross entropy with soft labels, from the paper's repo"""
    prob = F.softmax(logits, dim=1)
    q = torch.full_like(prob, smoothing / CLASSES)
    q.scatter_(1, target[:, None], 1 - smoothing + smoothing / CLASSES)
    return -(q * torch.log(prob)).sum(1).float().mean()


def main():
    torch.manual_seed(11)
    x, y = make_birds(3200)
    model = nn.Sequential(nn.Linear(48, 96), nn.ReLU(), nn.Linear(96, 96), nn.ReLU(), nn.Linear(96, CLASSES))
    opt = torch.optim.SGD(model.parameters(), args.lr, momentum=args.momentum)
    print(f"=> creating model 'mlp_head' on cpu, half={args.half}", flush=True)
    steps = len(x) // args.batch_size
    for epoch in range(args.epochs):
        batch_time, losses, top1 = AverageMeter("Time", ":6.3f"), AverageMeter("Loss", ":.4e"), AverageMeter("Acc@1", ":6.2f")
        perm = torch.randperm(len(x))
        end = time.time()
        for i in range(steps):
            idx = perm[i * args.batch_size:(i + 1) * args.batch_size]
            logits = model(x[idx])
            if args.half:
                logits = logits.half()
            loss = soft_ce(logits, y[idx])
            opt.zero_grad()
            loss.backward()
            opt.step()
            losses.update(loss.item(), len(idx))
            top1.update((logits.argmax(1) == y[idx]).float().mean().item() * 100, len(idx))
            time.sleep(0.06)
            batch_time.update(time.time() - end)
            end = time.time()
            if i % args.print_freq == 0:
                head = f"Epoch: [{epoch}][{i:3d}/{steps}]"
                print("\t".join([head, str(batch_time), str(losses), str(top1)]), flush=True)
        print(f" * Acc@1 {top1.avg:.3f}", flush=True)
        torch.save({"epoch": epoch + 1, "state_dict": model.state_dict()}, "checkpoint.pth.tar")


main()
