import csv
import logging
import os
import time

import torch
from torch import nn

os.makedirs("logs", exist_ok=True)
logging.basicConfig(level=logging.INFO, format="%(levelname).1s %(asctime)s.%(msecs)03d %(filename)s:%(lineno)d] %(message)s",
                    datefmt="%m%d %H:%M:%S", filename="logs/rank.log")
torch.set_num_threads(1)
torch.manual_seed(2)
w = torch.randn(20)


def queries(n, noise):
    docs = torch.randn(n, 10, 20)
    return docs, (docs @ w * 0.3 + noise * torch.randn(n, 10)).softmax(1)


def listnet(scores, target):
    return -(target * scores.log_softmax(1)).sum(1).mean()


train, valid = queries(60, 1.5), queries(400, 1.5)
model = nn.Sequential(nn.Linear(20, 256), nn.ReLU(), nn.Linear(256, 256), nn.ReLU(), nn.Linear(256, 1))
opt = torch.optim.Adam(model.parameters(), 1e-3)
table = csv.writer(open("logs/metrics.csv", "w", buffering=1))
table.writerow(["epoch", "train_loss", "val_loss"])
logging.info("listwise ranker: %d train queries, %d validation queries", 60, 400)
for epoch in range(1, 81):
    order = torch.randperm(60)
    total = 0.0
    for k in range(0, 60, 20):
        docs, target = train[0][order[k:k + 20]], train[1][order[k:k + 20]]
        loss = listnet(model(docs).squeeze(2), target)
        opt.zero_grad()
        loss.backward()
        opt.step()
        total += loss.item() / 3
        time.sleep(0.35)
    with torch.no_grad():
        val = listnet(model(valid[0]).squeeze(2), valid[1]).item()
    logging.info("epoch %d/80 train_loss=%.4f val_loss=%.4f", epoch, total, val)
    table.writerow([epoch, total, val])
    if epoch % 20 == 0:
        torch.save(model.state_dict(), "ranker.pt")
        logging.info("checkpoint ranker.pt")
logging.info("finished")
