# 方言分类，一个方言一个任务
import sys
import time

import torch

dialect = sys.argv[1]
torch.manual_seed(sum(map(ord, dialect)))
torch.set_num_threads(1)
net = torch.nn.Sequential(torch.nn.Linear(26, 40), torch.nn.ReLU(), torch.nn.Linear(40, 2))
opt = torch.optim.Adam(net.parameters(), lr=3e-3)
print(f"[{dialect}] 开始训练, 共 4 轮", flush=True)
for epoch in range(1, 5):
    total = right = 0
    loss_sum = 0.0
    for _ in range(25):
        x = torch.randn(32, 26)
        y = (x[:, 0] * x[:, 1] + 0.5 * torch.randn(32) > 0).long()
        out = net(x)
        loss = torch.nn.functional.cross_entropy(out, y)
        opt.zero_grad()
        loss.backward()
        opt.step()
        time.sleep(0.2)
        loss_sum += loss.item()
        right += int((out.argmax(1) == y).sum())
        total += len(y)
    print(f"[{dialect}] 第 {epoch}/4 轮 平均损失 {loss_sum / 25:.4f} 准确率 {right / total:.3f}", flush=True)
torch.save(net.state_dict(), f"{dialect}.pt")
print(f"[{dialect}] 训练完成, 模型已保存", flush=True)
