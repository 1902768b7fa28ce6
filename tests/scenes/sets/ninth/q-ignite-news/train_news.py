import logging
import time

import torch
from ignite.engine import Events, create_supervised_evaluator, create_supervised_trainer
from ignite.handlers import Checkpoint, DiskSaver, Timer
from ignite.metrics import Accuracy, Loss
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

logging.basicConfig(level=logging.INFO, format="%(asctime)s [%(levelname)s] %(message)s")
log = logging.getLogger("新闻分类")
logging.getLogger("ignite").setLevel(logging.WARNING)
类别 = ["体育", "财经", "科技", "娱乐"]


class Bag(nn.Module):
    def __init__(self):
        super().__init__()
        self.emb = nn.EmbeddingBag(800, 24)
        self.fc = nn.Linear(24, len(类别))

    def forward(self, x):
        time.sleep(0.1 if self.training else 0.02)
        return self.fc(self.emb(x))


def corpus(n, seed):
    g = torch.Generator().manual_seed(seed)
    y = torch.randint(0, 4, (n,), generator=g)
    x = torch.randint(0, 800, (n, 30), generator=g)
    own = torch.randint(0, 200, (n, 30), generator=g) + 200 * y[:, None]
    return TensorDataset(torch.where(torch.rand(n, 30, generator=g) < 0.25, own, x), y)


def main():
    torch.set_num_threads(1)
    torch.manual_seed(0)
    train, val = DataLoader(corpus(1920, 0), 32, shuffle=True), DataLoader(corpus(480, 1), 64)
    model, crit = Bag(), nn.CrossEntropyLoss()
    opt = torch.optim.Adam(model.parameters(), lr=8e-3)
    trainer = create_supervised_trainer(model, opt, crit)
    evaluator = create_supervised_evaluator(model, {"准确率": Accuracy(), "损失": Loss(crit)})
    timer = Timer(average=True).attach(trainer, resume=Events.ITERATION_STARTED, step=Events.ITERATION_COMPLETED, pause=Events.ITERATION_COMPLETED)
    best = Checkpoint({"model": model}, DiskSaver("模型", require_empty=False), n_saved=2, score_name="acc",
                      score_function=lambda e: e.state.metrics["准确率"])
    evaluator.add_event_handler(Events.COMPLETED, best)

    @trainer.on(Events.ITERATION_COMPLETED(every=10))
    def _(e):
        log.info("第 %d 轮 第 %d/%d 步 训练损失 %.4f 每步 %.3f 秒", e.state.epoch, e.state.iteration, e.state.max_epochs * len(train), e.state.output, timer.value())

    @trainer.on(Events.EPOCH_COMPLETED)
    def _(e):
        evaluator.run(val)
        m = evaluator.state.metrics
        log.info("第 %d 轮结束 验证准确率 %.4f 验证损失 %.4f", e.state.epoch, m["准确率"], m["损失"])

    log.info("开始训练, 共 %d 条新闻, 类别: %s", len(train.dataset), "、".join(类别))
    trainer.run(train, max_epochs=6)
    log.info("训练完成, 最佳模型: %s", best.last_checkpoint)


main()
