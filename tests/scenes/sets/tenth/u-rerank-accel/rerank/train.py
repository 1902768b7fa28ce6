import json
import logging
import sys
import time

import torch
from accelerate import Accelerator
from accelerate.utils import set_seed
from sklearn.metrics import roc_auc_score
from torch.utils.data import DataLoader
from transformers import BertConfig, BertForSequenceClassification, get_linear_schedule_with_warmup

from .data import VOCAB, pairs

cfg = json.load(open(sys.argv[1]))
logging.basicConfig(filename="logs/rerank.log", level=logging.INFO, encoding="utf-8",
                    format="%(asctime)s [%(levelname)s] %(message)s")
log = logging.getLogger("rerank")


def evaluate(model, loader, acc):
    model.eval()
    scores, labels = [], []
    for ids, types, y in loader:
        with torch.no_grad():
            s = model(input_ids=ids, token_type_ids=types).logits.softmax(-1)[:, 1]
        s, y = acc.gather_for_metrics((s, y))
        scores += s.tolist()
        labels += y.tolist()
        time.sleep(0.05)
    model.train()
    return roc_auc_score(labels, scores)


def main():
    set_seed(cfg["seed"])
    acc = Accelerator(cpu=True, gradient_accumulation_steps=1)
    model = BertForSequenceClassification(BertConfig(
        vocab_size=VOCAB, hidden_size=cfg["hidden"], num_hidden_layers=cfg["layers"], num_attention_heads=4,
        intermediate_size=128, max_position_embeddings=64, num_labels=2))
    opt = torch.optim.AdamW(model.parameters(), lr=cfg["lr"])
    train = DataLoader(pairs(cfg["pairs"], 1), cfg["batch"], shuffle=True)
    dev = DataLoader(pairs(cfg["dev"], 2), cfg["batch"])
    sched = get_linear_schedule_with_warmup(opt, 20, len(train) * cfg["epochs"])
    model, opt, train, dev, sched = acc.prepare(model, opt, train, dev, sched)
    log.info("开始训练：样本 %d，批大小 %d，共 %d 轮，参数量 %.2fM", cfg["pairs"], cfg["batch"], cfg["epochs"],
             sum(p.numel() for p in model.parameters()) / 1e6)
    best, step, t0, seen = 0.0, 0, time.time(), 0.0
    for epoch in range(1, cfg["epochs"] + 1):
        for ids, types, y in train:
            with acc.accumulate(model):
                loss = model(input_ids=ids, token_type_ids=types, labels=y).loss
                acc.backward(loss)
                acc.clip_grad_norm_(model.parameters(), 1.0)
                opt.step(), sched.step(), opt.zero_grad()
            step += 1
            seen += loss.item()
            time.sleep(0.08)
            if step % cfg["log_every"] == 0:
                log.info("第 %d/%d 轮 | 步数 %d | 损失 %.4f | 学习率 %.2e | %.1f 样本/秒", epoch, cfg["epochs"], step,
                         seen / cfg["log_every"], sched.get_last_lr()[0], step * cfg["batch"] / (time.time() - t0))
                seen = 0.0
        auc = evaluate(model, dev, acc)
        log.info("第 %d 轮验证集 AUC = %.4f%s", epoch, auc, "（最佳，已保存）" if auc > best else "")
        if auc > best:
            best = auc
            acc.save_state("output/best")
    log.info("训练完成，最佳 AUC = %.4f，用时 %.0f 秒", best, time.time() - t0)


if __name__ == "__main__":
    main()
