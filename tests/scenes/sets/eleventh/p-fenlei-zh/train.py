# -*- coding: utf-8 -*-
import argparse
import os
import random
import time

import torch
import yaml
from transformers import (BertConfig, BertForSequenceClassification, Trainer, TrainerCallback, TrainingArguments)
from transformers.trainer_callback import PrinterCallback
from transformers.trainer_utils import get_last_checkpoint


def load_news(cfg):
    """每条新闻:若干字,按类别有不同的特征字;停用字去掉。"""
    rnd = random.Random(cfg["seed"])
    stop = set(range(100, 130))
    rows = []
    for _ in range(cfg["samples"]):
        y = rnd.randrange(len(cfg["classes"]))
        length = min(24, 3 + int(rnd.expovariate(1 / 10)))
        chars = [rnd.randrange(100, 600) if rnd.random() < 0.6 else 10 + 20 * y + rnd.randrange(20) for _ in range(length)]
        rows.append({"text": [c for c in chars if c not in stop], "label": y})
    return rows


def collate(rows):
    width = max(len(r["text"]) for r in rows)
    ids, labels = [], []
    for r in rows:
        last = r["text"][-1]
        ids.append([1] + r["text"] + [last] * (width - len(r["text"])))
        labels.append(r["label"])
    return {"input_ids": torch.tensor(ids), "labels": torch.tensor(labels)}


class 日志(TrainerCallback):
    def on_train_begin(self, args, state, control, **kw):
        print(f"{time.strftime('%H:%M:%S')} 开始训练:共 {state.max_steps} 步,从第 {state.global_step} 步开始")

    def on_step_end(self, args, state, control, **kw):
        time.sleep(0.14)

    def on_log(self, args, state, control, logs=None, **kw):
        if "loss" in logs:
            print(f"{time.strftime('%H:%M:%S')} 第 {state.global_step} 步 损失 {logs['loss']:.4f} 学习率 {logs['learning_rate']:.2e}")

    def on_save(self, args, state, control, **kw):
        print(f"{time.strftime('%H:%M:%S')} 已保存检查点 checkpoint-{state.global_step}")


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--config")
    cfg = yaml.safe_load(open(ap.parse_args().config, encoding="utf-8"))
    model = BertForSequenceClassification(BertConfig(vocab_size=600, hidden_size=48, num_hidden_layers=2, num_attention_heads=4,
                                                     intermediate_size=96, max_position_embeddings=32,
                                                     num_labels=len(cfg["classes"])))
    args = TrainingArguments(cfg["output"], num_train_epochs=cfg["epochs"], per_device_train_batch_size=cfg["batch"],
                             learning_rate=cfg["lr"], save_steps=cfg["save_steps"], save_total_limit=2, logging_steps=10,
                             use_cpu=True, report_to="none", remove_unused_columns=False,
                             train_sampling_strategy="sequential", disable_tqdm=True, seed=cfg["seed"], dataloader_pin_memory=False)
    trainer = Trainer(model, args, data_collator=collate, train_dataset=load_news(cfg), callbacks=[日志()])
    trainer.remove_callback(PrinterCallback)
    last = get_last_checkpoint(cfg["output"]) if os.path.isdir(cfg["output"]) else None
    trainer.train(resume_from_checkpoint=last)
    trainer.save_model(cfg["output"] + "/final")


main()
