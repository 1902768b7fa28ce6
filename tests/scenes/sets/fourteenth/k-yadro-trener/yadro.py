"""Ядро: маленький самописный фреймворк. Очередь, тренер, журнал."""
import queue, sys, threading, time
from datetime import datetime


def журнал(текст, уровень="ИНФО"):
    print(f"{datetime.now():%H:%M:%S} [{уровень}] {текст}", flush=True)


class Загрузчик(threading.Thread):
    """Готовит батчи заранее, чтобы карта не простаивала."""

    def __init__(self, источник, глубина=4):
        super().__init__(name="загрузчик", daemon=True)
        self.источник, self.очередь = источник, queue.Queue(глубина)

    def run(self):
        for батч in self.источник:
            self.очередь.put(батч)
        self.очередь.put(None)

    def __iter__(self):
        self.start()
        while (батч := self.очередь.get()) is not None:
            yield батч


class Тренер:
    def __init__(self, модель, оптимизатор, потери, каждые=10):
        self.м, self.о, self.п, self.каждые = модель, оптимизатор, потери, каждые

    def учить(self, загрузчик, всего):
        начало = time.time()
        среднее = None
        for шаг, (x, y) in enumerate(загрузчик, 1):
            потери = self.п(self.м(x), y)
            self.о.zero_grad()
            потери.backward()
            self.о.step()
            time.sleep(.15)
            v = потери.item()
            среднее = v if среднее is None else .9 * среднее + .1 * v
            if шаг % self.каждые == 0:
                скорость = шаг / (time.time() - начало)
                журнал(f"шаг {шаг}/{всего}  потери {среднее:.4f}  {скорость:.1f} шаг/с")
        журнал("обучение завершено")
