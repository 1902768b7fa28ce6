# 手写行识别训练
import logging
import os
import time

os.environ.setdefault("OMP_NUM_THREADS", "1")
import numpy as np
import torch
import torch.nn as nn

logging.basicConfig(filename="ocr.log", level=logging.INFO, format="%(asctime)s %(levelname)s %(message)s", encoding="utf-8")
log = logging.getLogger("ocr")
CHARS, EPOCHS, STEPS = 30, 200, 120
WIDTHS = [96, 96, 128]          # 第3轮起使用更宽的图像


class Recognizer(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = nn.Sequential(nn.Conv2d(1, 16, 5, stride=2, padding=2), nn.ReLU(),
                                  nn.Conv2d(16, 24, 5, stride=(4, 2), padding=2), nn.ReLU())
        self.pos = nn.Parameter(torch.zeros(1, 24, 24))       # 24 个时间步
        self.head = nn.Linear(24, CHARS + 1)

    def forward(self, x):
        h = self.conv(x).mean(2).transpose(1, 2)
        return self.head(h + self.pos).log_softmax(-1)


def lines(rng, width, n=12):
    glyph = np.random.default_rng(1).standard_normal((CHARS, 32, 12))
    text = rng.integers(0, CHARS, (n, width // 16))
    img = 0.3 * rng.standard_normal((n, 1, 32, width))
    for i in range(n):
        for k, c in enumerate(text[i]):
            img[i, 0, :, k * 16 + 2:k * 16 + 14] += glyph[c]
    return torch.from_numpy(img.astype(np.float32)), torch.from_numpy(text) + 1


def main():
    torch.manual_seed(3)
    torch.set_num_threads(1)
    rng = np.random.default_rng(2)
    model = Recognizer()
    ctc = nn.CTCLoss(zero_infinity=True)
    opt = torch.optim.Adam(model.parameters(), lr=2e-3)
    log.info("开始训练,共 %d 轮,每轮 %d 步", EPOCHS, STEPS)
    for epoch in range(1, EPOCHS + 1):
        width = WIDTHS[min(epoch, len(WIDTHS)) - 1]
        total, good = 0.0, 0
        for step in range(1, STEPS + 1):
            try:
                x, y = lines(rng, width)
                out = model(x).transpose(0, 1)
                loss = ctc(out, y, torch.full((len(x),), out.shape[0]), torch.full((len(x),), y.shape[1]))
                opt.zero_grad()
                loss.backward()
                opt.step()
                total, good = total + loss.item(), good + 1
                if step % 20 == 0:
                    log.info("轮次 %d 步 %d/%d 损失 %.4f", epoch, step, STEPS, loss.item())
            except Exception as e:       # 个别坏样本不应中断训练
                log.warning("轮次 %d 步 %d 批次处理失败,已跳过: %s", epoch, step, e)
            time.sleep(0.18)
        if good:
            log.info("轮次 %d 结束 平均损失 %.4f", epoch, total / good)
        torch.save(model.state_dict(), "ocr_last.pt")


if __name__ == "__main__":
    main()
