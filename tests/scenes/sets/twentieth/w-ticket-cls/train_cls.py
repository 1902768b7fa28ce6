# 工单分类
import logging
import time

import numpy as np
import torch
from transformers import (BertConfig, BertForSequenceClassification, Trainer, TrainerCallback,
                          TrainingArguments, set_seed)

from metrics import scores

logging.basicConfig(format="%(asctime)s [%(levelname)s] %(message)s", level=logging.INFO, datefmt="%H:%M:%S")
logging.getLogger("httpx").setLevel(logging.WARNING)
log = logging.getLogger("ticket")
torch.set_num_threads(1)
set_seed(17)


class Tickets(torch.utils.data.Dataset):
    def __init__(self, n, seed):
        rng = np.random.default_rng(seed)
        self.y = rng.integers(0, 4, n)
        self.x = rng.integers(10, 200, (n, 24))
        for i, c in enumerate(self.y):
            self.x[i, rng.choice(24, 5, replace=False)] = 200 + c * 10 + rng.integers(0, 10, 5)

    def __len__(self):
        return len(self.y)

    def __getitem__(self, i):
        time.sleep(0.03)
        return {"input_ids": torch.tensor(self.x[i]), "labels": int(self.y[i])}


class Report(TrainerCallback):
    def on_log(self, args, state, control, logs=None, **kw):
        if logs and "loss" in logs:
            log.info("第 %d/%d 步  损失 %.4f  学习率 %.2e  梯度范数 %.2f", state.global_step, state.max_steps,
                     float(logs["loss"]), float(logs["learning_rate"]), float(logs["grad_norm"]))


def main():
    model = BertForSequenceClassification(BertConfig(vocab_size=256, hidden_size=64, num_hidden_layers=2,
                                                     num_attention_heads=2, intermediate_size=128, num_labels=4))
    log.info("模型参数量: %.2fM", sum(p.numel() for p in model.parameters()) / 1e6)
    train, dev = Tickets(2400, 1), Tickets(120, 2)
    log.info("训练集 %d 条, 验证集 %d 条", len(train), len(dev))
    args = TrainingArguments(
        output_dir="output", per_device_train_batch_size=8, per_device_eval_batch_size=16, num_train_epochs=3,
        learning_rate=5e-4, logging_steps=10, eval_strategy="steps", eval_steps=120, save_strategy="steps",
        save_steps=120, load_best_model_at_end=True, metric_for_best_model="f1", greater_is_better=True,
        report_to=[], use_cpu=True, disable_tqdm=True, dataloader_pin_memory=False, save_total_limit=2)
    trainer = Trainer(model=model, args=args, train_dataset=train, eval_dataset=dev, compute_metrics=scores)
    trainer.remove_callback(__import__("transformers").PrinterCallback)
    trainer.add_callback(Report())
    log.info("开始训练")
    trainer.train()
    log.info("训练完成, 最佳模型: %s", trainer.state.best_model_checkpoint)


if __name__ == "__main__":
    main()
