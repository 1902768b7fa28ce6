import json, logging, os, threading, time
import torch
from torch import nn

logging.basicConfig(level=logging.INFO, format="%(asctime)s %(levelname)s %(message)s")
log = logging.getLogger("tabformer")


class Saver:
    """체크포인트를 학습과 별도의 스레드에서 저장한다."""

    def __init__(self, folder, keep=3):
        self.folder, self.keep, self.thread = folder, keep, None
        os.makedirs(folder, exist_ok=True)

    def save(self, step, state):
        if self.thread:
            self.thread.join()
        self.thread = threading.Thread(target=self._write, args=(step, {k: v.clone() for k, v in state.items()}))
        self.thread.start()

    def _write(self, step, state):
        path = f"{self.folder}/step{step:06d}.pt"
        try:
            with open(path + ".tmp", "wb") as f:
                torch.save(state, f)
            os.rename(path + ".tmp", path)
            for old in sorted(p for p in os.listdir(self.folder) if p.endswith(".pt"))[:-self.keep]:
                os.remove(f"{self.folder}/{old}")
            log.info("체크포인트 저장 완료: %s", path)
        except OSError as e:
            log.error("체크포인트 저장 실패 (step %d): %s", step, e)


def main():
    torch.manual_seed(6)
    net = nn.Sequential(nn.Linear(20, 64), nn.GELU(), nn.Linear(64, 64), nn.GELU(), nn.Linear(64, 2))
    opt = torch.optim.AdamW(net.parameters(), lr=1e-3)
    saver = Saver("vol/ckpt")
    log.info("학습 시작: 파라미터 %d개", sum(p.numel() for p in net.parameters()))
    for step in range(1, 1201):
        x = torch.randn(64, 20)
        y = (x[:, 0] * x[:, 1] + x[:, 2] > 0).long()
        loss = nn.functional.cross_entropy(net(x), y)
        opt.zero_grad()
        loss.backward()
        opt.step()
        time.sleep(0.2)
        if step % 10 == 0:
            log.info("step %d/1200 loss %.4f", step, loss.item())
        if step % 40 == 0:
            saver.save(step, net.state_dict())
    log.info("학습 종료")


main()
