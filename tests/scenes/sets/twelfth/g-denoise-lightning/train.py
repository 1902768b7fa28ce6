import json
import sys
import time
import warnings

import lightning as L
import torch
from lightning.pytorch.callbacks import Callback

from data import stations
from model import Denoiser

warnings.filterwarnings("ignore")
torch.set_num_threads(1)


class JsonLines(Callback):
    def emit(self, **what):
        print(json.dumps({"ts": round(time.time(), 2), **what}), flush=True)

    def on_train_start(self, trainer, module):
        self.emit(event="train_start", params=sum(p.numel() for p in module.parameters()))

    def on_train_batch_end(self, trainer, module, outputs, batch, batch_idx):
        step = trainer.global_step
        if step == 121:
            self.emit(event="curriculum", stage="coast", step=step)
        if step % 5 == 0:
            self.emit(event="step", step=step, epoch=trainer.current_epoch, train_loss=outputs["loss"].item())

    def on_train_end(self, trainer, module):
        self.emit(event="train_end", step=trainer.global_step)


if __name__ == "__main__":
    L.seed_everything(11)
    trainer = L.Trainer(max_epochs=1, accelerator="cpu", enable_progress_bar=False, logger=False,
                        enable_checkpointing=False, enable_model_summary=False, callbacks=[JsonLines()], use_distributed_sampler=False)
    trainer.fit(Denoiser(), stations())
    trainer.save_checkpoint("denoiser.ckpt")
    sys.exit(0)
