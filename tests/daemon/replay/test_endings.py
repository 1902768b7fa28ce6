"""How logs of many programs end: through, cut short, or failed, and of what."""

from __future__ import annotations

import json
from typing import Any

import pytest

from middlewatch.daemon.replay.one_log import Replay, ReplayRules
from middlewatch.sentinels.kit import discover

SENTINELS = discover()


def ending(text: str) -> dict[str, Any]:
    """The `end` record of a log."""
    bugs: list[str] = []
    replay = Replay("a.log", ReplayRules(SENTINELS, {}, bugs.append))
    *_, last = replay.read([text.encode()], metrics=False)
    assert not bugs
    return last


def loss(n: float) -> float:
    return 1.2 + 3.0 / (1 + n / 200)


def rows(form: str, first: int, last: int, every: int = 1, **more: Any) -> str:
    """A line for each step; ``form`` may use n, loss and what is in ``more``."""
    return "".join(
        form.format(n=n, loss=loss(n), **more) + "\n" for n in range(first, last + 1, every)
    )


def hf(first: int, last: int, epochs: float = 3.0, steps: int = 300) -> str:
    return "".join(
        str(
            {
                "loss": round(loss(n), 4),
                "grad_norm": 0.9,
                "learning_rate": 2e-5 * (1 - n / steps),
                "epoch": round(epochs * n / steps, 2),
            }
        )
        + "\n"
        for n in range(first, last + 1, 10)
    )


def tqdm(first: int, last: int, total: int) -> str:
    return "".join(
        f"\r{100 * n // total:3d}%|█████     | {n}/{total} [{n // 60:02d}:{n % 60:02d}<10:11,  1.01it/s, loss={loss(n):.3f}]"
        for n in range(first, last + 1)
    )


def keras(first: int, last: int, epochs: int) -> str:
    return "".join(
        f"Epoch {n}/{epochs}\n1875/1875 [==============================] - 12s 6ms/step - loss: {loss(n):.4f} - val_loss: {loss(n) + 0.1:.4f}\n"
        for n in range(first, last + 1)
    )


def yolo(first: int, last: int, epochs: int) -> str:
    return "".join(
        "\n      Epoch    GPU_mem   box_loss   cls_loss   dfl_loss  Instances       Size\n"
        f"{n:7d}/{epochs}      2.31G      1.532      3.021      1.389         41        640: 100%|██████████| 92/92 [00:31<00:00,  2.95it/s]\n"
        "                 Class     Images  Instances      Box(P          R      mAP50  mAP50-95): 100%|██████████| 4/4 [00:01<00:00,  2.95it/s]\n"
        "                   all        128        929      0.640      0.537      0.605      0.446\n"
        for n in range(first, last + 1)
    )


def mmengine(epochs: range, of: int = 4) -> str:
    return "".join(
        f"2026/02/03 10:{e:02d}:{b:02d} - mmengine - INFO - Epoch(train)  [{e}][{b * 50:3d}/200]  lr: 1.0000e-03  eta: 0:10:00  time: 0.2312  data_time: 0.0112  memory: 4012  loss: {loss(e * 200 + b):.4f}\n"
        for e in epochs
        for b in range(1, of + 1)
    )


def state(steps: int, total: int) -> str:
    """The file that HF Trainer leaves behind."""
    history = [
        {"epoch": n / 100, "loss": round(loss(n), 4), "learning_rate": 1e-5, "step": n}
        for n in range(10, steps + 1, 10)
    ]
    return (
        json.dumps(
            {
                "best_metric": None,
                "epoch": steps / 100,
                "global_step": steps,
                "log_history": history,
                "max_steps": total,
                "num_train_epochs": total // 100,
            },
            indent=2,
        )
        + "\n"
    )


MEGATRON = " iteration {n:8d}/    500 | consumed samples: 123 | elapsed time per iteration (ms): 412.3 | learning rate: 1.0E-04 | lm loss: {loss:.6E} | loss scale: 1.0 | grad norm: 0.912 |"
NANO = "iter {n}: loss {loss:.4f}, time 132.21ms, mfu 31.20%"
PLAIN = "step {n} loss {loss:.4f} lr 3.0e-04"
OF = "step {n}/500 loss {loss:.4f} lr 3.0e-04"
TRACE = 'Traceback (most recent call last):\n  File "/srv/train.py", line 88, in <module>\n    main()\n  File "/srv/train.py", line 61, in main\n    step(batch)\n'

FINISHED = {
    "hf, with its summary": hf(10, 300)
    + "{'train_runtime': 812.31, 'train_samples_per_second': 11.8, 'train_steps_per_second': 0.369, 'train_loss': 1.8123, 'epoch': 3.0}\n100%|██████████| 300/300 [13:32<00:00,  2.71s/it]\n",
    "hf, strings": hf(10, 300)
    + "{'train_runtime': '812.3', 'train_samples_per_second': '11.8', 'train_steps_per_second': '0.369', 'train_loss': '1.812', 'epoch': '3'}\n",
    "hf, metrics block": hf(10, 300)
    + "***** train metrics *****\n  epoch                    =        3.0\n  train_loss               =     1.8123\n  train_runtime            = 0:13:32.31\n  train_samples_per_second =       11.8\n",
    "the bar reached its end": tqdm(1, 200, 200) + "\n",
    "lightning": "".join(
        f"Epoch {e}: 100%|██████████| 50/50 [00:12<00:00,  4.01it/s, v_num=3, train_loss={loss(e):.3f}]\n"
        for e in range(10)
    )
    + "`Trainer.fit` stopped: `max_epochs=10` reached.\n",
    "lightning, bar alone": "".join(
        f"\rEpoch {e}: 100%|██████████| 50/50 [00:12<00:00,  4.01it/s, v_num=3, train_loss={loss(e):.3f}]"
        for e in range(10)
    )
    + "\n`Trainer.fit` stopped: `max_steps=500` reached.\n",
    "keras": keras(1, 20, 20),
    "keras 3": "".join(
        f"Epoch {n}/12\n938/938 ━━━━━━━━━━━━━━━━━━━━ 3s 3ms/step - accuracy: 0.9 - loss: {loss(n):.4f}\n"
        for n in range(1, 13)
    ),
    "megatron, last iteration": rows(MEGATRON, 10, 500, 10),
    "megatron, says so": rows(MEGATRON, 10, 500, 10)
    + "[after training is done] datetime: 2026-02-03 10:11:12\n",
    "deepspeed of so many": rows(
        "steps: {n} loss: {loss:.4f} iter time (s): 0.412 samples/sec: 77.1", 10, 400, 10
    )
    + "[after training is done] datetime: 2026-02-03 10:11:12\n",
    "nanogpt, max_iters echoed": "max_iters = 600\nlearning_rate = 0.0006\n"
    + rows(NANO, 0, 600, 10),
    "max_steps in a config": '{"max_steps": 400, "lr": 0.0003, "batch_size": 32}\n'
    + rows(PLAIN, 10, 400, 10),
    "max_steps in yaml": "model: small\nmax_steps: 400\nlr: 0.0003\nbatch_size: 32\n"
    + rows(PLAIN, 10, 400, 10),
    "namespace": "Namespace(lr=0.001, max_steps=400, seed=1, out='run')\n"
    + rows(PLAIN, 10, 400, 10),
    "num epochs of a namespace": "Namespace(lr=0.001, epochs=30, seed=1, out='run')\n"
    + rows("Epoch {n}: train_loss {loss:.4f} val_loss {loss:.4f}", 1, 30),
    "zero-based epochs of a namespace": "Namespace(batch_size=64, epochs=30, lr=0.001)\n"
    + rows("epoch: {n} train_loss: {loss:.4f}", 0, 29),
    "epochs = 300 and epoch: 299": "lr: 0.01\nepochs: 300\nbatch_size: 128\n"
    + rows("epoch: {n}, loss: {loss:.4f}, time: 3.1s", 0, 299),
    "Epoch 300/300": rows("Epoch {n}/300 - loss: {loss:.4f} - val_loss: {loss:.4f}", 1, 300),
    "[299/300]": rows("[{n}/300] loss: {loss:.4f} acc: 0.91", 0, 299),
    "Epoch [299/300]": rows("Epoch [{n}/300] loss: {loss:.4f} lr: 0.01", 0, 299),
    "tutorial": "".join(
        f"Epoch [{e}/5], Step [{s}/600], Loss: {loss(e * 600 + s):.4f}\n"
        for e in range(1, 6)
        for s in range(100, 601, 100)
    ),
    "yolov8": yolo(1, 20, 20) + "\n20 epochs completed in 0.212 hours.\n",
    "yolov5, zero-based": yolo(0, 19, 19),
    "mmengine": rows(
        "2026/02/03 10:11:12 - mmengine - INFO - Iter(train) [{n:5d}/40000]  base_lr: 1.0e-03 lr: 1.0e-03  eta: 0:10:00  time: 0.2312  data_time: 0.0112  memory: 4012  loss: {loss:.4f}",
        50,
        40000,
        50,
    )
    + "2026/02/03 11:00:00 - mmengine - INFO - Saving checkpoint at 40000 iterations\n",
    "mmengine, epochs": "max_epochs = 12\n"
    + mmengine(range(1, 13))
    + "2026/02/03 11:00:00 - mmengine - INFO - Saving checkpoint at 12 epochs\n2026/02/03 11:00:09 - mmengine - INFO - Epoch(val) [12][40/40]    coco/bbox_mAP: 0.3712  data_time: 0.0112  time: 0.0412\n",
    "fairseq": rows(
        "2026-02-03 10:11:12 | INFO | train_inner | epoch 001: {n:6d} / 900 loss={loss:.3f}, ppl=12.1, wps=24123, ups=1.9, num_updates={n}, lr=0.0003, gnorm=0.9",
        100,
        900,
        100,
    )
    + "2026-02-03 10:31:12 | INFO | fairseq_cli.train | Stopping training due to num_updates: 900 >= max_update: 900\n2026-02-03 10:31:15 | INFO | fairseq_cli.train | done training in 1203.1 seconds\n",
    "detectron2": rows(
        "[02/03 10:11:12 d2.utils.events]:  eta: 0:01:45  iter: {n}  total_loss: {loss:.4f}  loss_cls: 0.31  time: 0.4321  data_time: 0.0123  lr: 0.00025  max_mem: 6123M",
        19,
        299,
        20,
    )
    + "[02/03 10:21:12 d2.engine.hooks]: Overall training speed: 297 iterations in 0:02:08 (0.4321 s / it)\n[02/03 10:21:12 d2.engine.hooks]: Total training time: 0:02:10 (0:00:02 on hooks)\n",
    "timm": "".join(
        f"Train: {e} [{b:4d}/100 ({b:3d}%)]  Loss: {loss(e):.3f} ({loss(e):.2f})  Time: 0.312s, 820.51/s  (0.321s, 797.51/s)  LR: 5.000e-04  Data: 0.011 (0.012)\n"
        for e in range(10)
        for b in (0, 50, 99)
    )
    + "*** Best metric: 78.123 (epoch 9)\n",
    "llm.c": rows(
        "step {n:5d}/500 | loss {loss:.6f} (+0.12z)| norm 0.9 (-0.30z)| lr 3.00e-04 | 1520.11 ms | 61.2% bf16 MFU | 345123 tok/s",
        1,
        500,
    )
    + "val loss 3.412345\n",
    "litgpt": rows(
        "Epoch 1 | iter {n} step {n} | loss train: {loss:.3f}, val: n/a | iter time: 345.67 ms (step)",
        1,
        100,
    )
    + "Training time: 812.31s\nMemory used: 21.31 GB\n",
    "olmo-core": "".join(
        f"2026-02-03 10:11:12.123\tn1\tolmo_core.train.callbacks.console_logger:69\tINFO\t[step={n}/200,epoch=1,eta=0:01:12]\n    train/CE loss={loss(n):.4f}\n    optim/total grad norm=0.9\n"
        for n in range(10, 201, 10)
    )
    + "2026-02-03 10:41:12.123\tn1\tolmo_core.train.trainer:812\tINFO\tTraining complete\n",
    "torchtitan": rows(
        "[rank0]:[titan] 2026-02-03 10:11:12,123 - root - INFO - step: {n:3d}  loss: {loss:.4f}  grad_norm: 0.9  tps: 6,123  mfu: 34.12%",
        10,
        300,
        10,
    )
    + "[rank0]:[titan] 2026-02-03 10:31:12,123 - root - INFO - Training completed\n",
    "sb3": "".join(
        f"---------------------------------\n| rollout/           |          |\n|    ep_rew_mean     | {n / 1000:.1f}     |\n| time/              |          |\n|    fps             | 1231     |\n|    total_timesteps | {n}     |\n---------------------------------\n"
        for n in range(2048, 20481, 2048)
    )
    + "Training finished.\n",
    "trainer_state.json": state(300, 300),
    "early stopping, keras": keras(1, 9, 50)
    + "Epoch 9: early stopping\nRestoring model weights from the end of the best epoch: 4.\n",
    "early stopping, own words": rows(
        "Epoch {n}/100 | train loss {loss:.4f} | val loss {loss:.4f}", 1, 23
    )
    + "Early stopping triggered after 23 epochs\n",
    "early stopping, lightning": "".join(
        f"Epoch {e}: 100%|██████████| 50/50 [00:12<00:00,  4.01it/s, v_num=3, train_loss={loss(e):.3f}]\n"
        for e in range(7)
    )
    + "Monitored metric val_loss did not improve in the last 3 records. Best score: 0.312. Signaling Trainer to stop.\n",
    "early stopping, ultralytics": yolo(1, 41, 300)
    + "EarlyStopping: Training stopped early as no improvement observed in last 20 epochs. Best results observed at epoch 21, best model saved as best.pt.\n\n41 epochs completed in 0.512 hours.\n",
    "chinese": rows("[训练] 步数: {n}/400 损失: {loss:.4f} 学习率: 1e-4", 10, 400, 10)
    + "训练完成，总耗时 812.3 秒\n",
    "jsonl with a total": "".join(
        json.dumps(
            {
                "current_steps": n,
                "total_steps": 400,
                "loss": round(loss(n), 4),
                "lr": 1e-5,
                "epoch": n / 200,
                "percentage": n / 4,
            }
        )
        + "\n"
        for n in range(10, 401, 10)
    ),
    "jsonl, last is a summary": "".join(
        json.dumps({"step": n, "loss": round(loss(n), 4)}) + "\n" for n in range(10, 401, 10)
    )
    + json.dumps(
        {"train_runtime": 812.1, "train_samples_per_second": 12.1, "train_loss": 1.9, "step": 400}
    )
    + "\n",
    "kohya": "".join(
        f"\rsteps: {n // 2:3d}%|█████     | {n}/200 [01:40<15:00,  1.00s/it, avr_loss={loss(n):.3f}]"
        for n in range(1, 201)
    )
    + "\nmodel saved.\n",
    "finetune script": rows("epoch {n} | train loss {loss:.4f} | test acc 91.2%", 1, 10)
    + "Finished Training\n",
    "training done in time": rows(PLAIN, 10, 400, 10)
    + "Training took 0:13:31\nBest val loss: 1.213\n",
    "maxtext": rows(
        "completed step: {n}, seconds: 1.234, TFLOP/s/device: 150.201, Tokens/s/device: 3320.112, total_weights: 65536, loss: {loss:.3f}",
        0,
        99,
    )
    + "",
    "accelerate, epochs done": "***** Running training *****\n  Num examples = 8000\n  Num Epochs = 3\n  Total optimization steps = 300\n"
    + tqdm(1, 300, 300)
    + "\n",
    "diffusers": "".join(
        f"\rSteps: {n // 3:3d}%|█████     | {n}/300 [01:40<00:00,  1.20it/s, lr=1e-5, step_loss={loss(n):.3f}]"
        for n in range(1, 301)
    )
    + "\n",
    "num_epochs 5, epoch 5": "num_epochs: 5\n"
    + rows("epoch {n} done, train loss = {loss:.4f}, val loss = {loss:.4f}", 1, 5),
    "teardown noise": rows(OF, 10, 500, 10)
    + "Training completed in 812.3 seconds\n[rank0]:[W203 10:31:15.123456789 ProcessGroupNCCL.cpp:1250] Warning: WARNING: process group has NOT been destroyed before we destruct ProcessGroupNCCL.\n",
    "tracker after the end": rows(OF, 10, 500, 10)
    + "Training completed.\nwandb: Run history:\nwandb:   loss █▅▃▂▁\nwandb: Run summary:\nwandb:   loss 1.2\n",
}
"""maxtext has no total: only its last line could tell."""
del FINISHED["maxtext"]

CUT = {
    "hf": hf(10, 120),
    "bar": tqdm(1, 120, 200) + "\n",
    "keras": keras(1, 9, 20),
    "keras, within an epoch": keras(1, 3, 4)
    + "Epoch 4/4\n 312/1875 [===>..........................] - ETA: 9s - loss: 1.2312\n",
    "megatron": rows(MEGATRON, 10, 320, 10),
    "nanogpt": "max_iters = 600000\n" + rows(NANO, 0, 600, 10),
    "plain": rows(PLAIN, 10, 400, 10),
    "yolov8": yolo(1, 12, 300),
    "mmengine": mmengine(range(3, 5)),
    "epochs": rows("Epoch {n}/300 - loss: {loss:.4f}", 1, 212),
    "epochs of a namespace": "Namespace(batch_size=64, epochs=90, lr=0.001)\n"
    + rows("epoch: {n} train_loss: {loss:.4f}", 0, 41),
    "trainer_state.json of a checkpoint": state(200, 300),
    "an epoch is done, not the run": rows("Epoch {n} training done, loss {loss:.4f}", 1, 6)
    + rows(PLAIN, 10, 40, 10),
    "talk of early stopping": "Early stopping patience: 5\n"
    + rows("Epoch {n}/100 | train loss {loss:.4f} | val loss {loss:.4f}", 1, 23)
    + "EarlyStopping counter: 3 out of 5\n",
    "tutorial in its last epoch": "".join(
        f"Epoch [{e}/5], Step [{s}/600], Loss: {loss(e * 600 + s):.4f}\n"
        for e in range(1, 6)
        for s in range(100, 601, 100)
    )[: -3 * len("Epoch [5/5], Step [600/600], Loss: 1.4400\n")],
    "total announced": "***** Running training *****\n  Num examples = 8000\n  Num Epochs = 3\n  Total optimization steps = 3000\n"
    + hf(10, 200),
}

FAILED = {
    "oom": (
        rows(OF, 10, 200, 10)
        + TRACE
        + "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.40 GiB. GPU 0 has a total capacity of 79.15 GiB of which 1.02 GiB is free.\n",
        "cuda_oom",
    ),
    "oom behind a bar": (
        tqdm(1, 80, 200)
        + "\n"
        + TRACE
        + "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.40 GiB.\n",
        "cuda_oom",
    ),
    "an exception": (hf(10, 120) + TRACE + "KeyError: 'labels'\n", "python_exception"),
    "killed": (
        rows(PLAIN, 10, 200, 10)
        + "/var/spool/job/run.sh: line 12:  3123 Killed                  python train.py --lr 0.001\n",
        "process_killed",
    ),
    "disk": (
        rows(PLAIN, 10, 200, 10) + TRACE + "OSError: [Errno 28] No space left on device\n",
        "disk_full",
    ),
    "time limit": (
        rows(OF, 10, 200, 10)
        + "slurmstepd: error: *** JOB 812 ON n3 CANCELLED AT 2026-02-03T10:11:12 DUE TO TIME LIMIT ***\n",
        "slurm_time_limit",
    ),
    "ctrl-c": (tqdm(1, 80, 200) + "\n" + TRACE + "KeyboardInterrupt\n", "interrupted"),
    "nan at the end": (
        rows(OF, 10, 200, 10)
        + "".join(f"step {n}/500 loss nan lr 3.0e-04\n" for n in range(210, 260, 10)),
        "loss_nan",
    ),
    "nan, then an exception": (
        rows(OF, 10, 200, 10)
        + "".join(f"step {n}/500 loss nan lr 3.0e-04\n" for n in range(210, 260, 10))
        + TRACE
        + "ValueError: loss is not finite, stopping\n",
        "loss_nan",
    ),
    "nan to the last step": (
        "".join(
            f"step {n}/500 loss {'nan' if n > 200 else round(loss(n), 4)} lr 3.0e-04\n"
            for n in range(10, 501, 10)
        ),
        "loss_nan",
    ),
    "save at the end": (
        rows(OF, 10, 500, 10)
        + "Training completed.\nSaving the final model\n"
        + TRACE
        + "OSError: [Errno 28] No space left on device\n",
        "disk_full",
    ),
    "timeout of a collective": (
        rows("[rank0]: step {n}/500 loss {loss:.4f}", 10, 200, 10)
        + "[rank3]:[E203 10:31:15.123456789 ProcessGroupNCCL.cpp:632] [Rank 3] Watchdog caught collective operation timeout: WorkNCCL(SeqNum=812, OpType=ALLREDUCE, NumelIn=1, NumelOut=1, Timeout(ms)=600000) ran for 600012 milliseconds before timing out.\n",
        "nccl_timeout",
    ),
    "segfault": (
        rows(PLAIN, 10, 200, 10)
        + "run.sh: line 3:  3123 Segmentation fault      (core dumped) python train.py\n",
        "segfault",
    ),
    "worker": (
        rows(PLAIN, 10, 200, 10)
        + TRACE
        + "RuntimeError: DataLoader worker (pid 3123) is killed by signal: Killed. \n",
        "dataloader_worker_killed",
    ),
    "diverged": (
        rows(OF, 10, 300, 10)
        + "".join(
            f"step {310 + 10 * i}/500 loss {1.7 * 11.0 ** (i + 1):.4f} lr 3.0e-04\n"
            for i in range(9)
        ),
        None,
    ),
}


@pytest.mark.parametrize("name", list(FINISHED))
def test_finished(name: str) -> None:
    end = ending(FINISHED[name])
    assert (end["verdict"], end["cause"]) == ("finished", None)
    assert end["finished_at_line"]


@pytest.mark.parametrize("name", list(CUT))
def test_cut(name: str) -> None:
    end = ending(CUT[name])
    assert (end["verdict"], end["cause"]) == ("cut", None)


@pytest.mark.parametrize("name", list(FAILED))
def test_failed(name: str) -> None:
    text, cause = FAILED[name]
    end = ending(text)
    if cause is None:  # a loss that exploded may or may not have ended the run
        assert end["verdict"] in ("failed", "cut")
        return
    assert (end["verdict"], end["cause"]) == ("failed", cause)


LOOP = rows("shard {n} trained loss={loss:.4f}", 1, 8)


@pytest.mark.parametrize(
    "last",
    [
        "rete salvata in posta.net",
        "modello salvato: posta.net",
        "事後標本を posterior.npz に保存しました",
        "model exported path=model.gob errors_total=0",
        "modell opgeslagen in model.bin",
    ],
)
def test_what_is_saved_in_the_end_in_any_language(last: str) -> None:
    assert ending(f"{LOOP}{last}\n")["verdict"] == "finished"


@pytest.mark.parametrize(
    "last",
    [
        "Обучение остановлено: INTERNAL: src/trainer.cc(744) [(a) == (b)] Vocabulary size too high",
        "rpc ended with RESOURCE_EXHAUSTED: quota of the project",
        "✘ Config error for 'spacy.TextCatBOW.v3'",
        "❌ the data file is missing",
    ],
)
def test_marks_and_codes_of_an_error_nobody_names(last: str) -> None:
    end = ending(f"{LOOP}{last}\n")
    assert (end["verdict"], end["cause"]) == ("failed", "python_exception")


def test_the_stack_of_java_is_no_last_word() -> None:
    stack = "".join(f"\tat weka.core.Capabilities.test(Capabilities.java:{n})\n" for n in range(9))
    end = ending(f"{LOOP}weka.core.UnsupportedException: Cannot handle numeric class!\n{stack}")
    assert end["verdict"] == "failed"


def test_preempted_and_begun_again() -> None:
    head = rows("step {n}/600 mse {loss:.4f}", 50, 400, 50)
    gone = "checkpoint written at step 411, leaving for requeue\njob preempted, requeued\n"
    rest = rows("step {n}/600 mse {loss:.4f}", 450, 600, 50)
    assert (
        ending(f"{head}{gone}resumed from state.json at step 411\n{rest}")["verdict"] == "finished"
    )
    assert ending(f"{head}{gone}")["cause"] == "preempted"


def test_a_bar_that_gets_its_label_later() -> None:
    bar = "".join(
        f"\r{label}{n * 100 // 600:3d}%|{'█' * (n // 60)}| {n}/600 [00:03<00:00, 215.7it/s]"
        for label, n in (("", 0), ("warmup: ", 30), ("sample: ", 498), ("sample: ", 600))
    )
    assert ending(f"{bar}\nposterior.npz saved\n")["verdict"] == "finished"


def test_an_error_of_compiled_code_is_told_after_its_stack() -> None:
    text = """Traceback (most recent call last):
  File "node.py", line 13, in <module>
    mlp, st, l = step(mlp, st)
EquinoxRuntimeError: Above is the stack outside of JIT. Below is the stack inside of JIT:
  File "node.py", line 6, in f
    h = eqx.error_if(h, jnp.any(h > 1e4), "state left the trust region")

equinox.EquinoxRuntimeError: state left the trust region
"""
    bugs: list[str] = []
    replay = Replay("a.log", ReplayRules(SENTINELS, {}, bugs.append))
    found = [
        r for r in replay.read([f"{LOOP}{text}".encode()], metrics=False) if r["type"] == "finding"
    ]
    assert [r["summary"] for r in found] == ["EquinoxRuntimeError: state left the trust region"]


LIMIT = "slurmstepd: error: *** STEP 34.0 ON gpu1 CANCELLED AT 2024-04-16T22:14:41 DUE TO TIME LIMIT ***\n"


def test_a_ctrl_c_in_the_terminal_of_a_job_did_not_end_it() -> None:
    last = ending("$ source ~/.bashrc\n^C\n$ python train.py\n" + LIMIT)
    assert (last["verdict"], last["cause"]) == ("failed", "slurm_time_limit")


def test_batches_that_are_indented_are_reports_of_their_own() -> None:
    form = "  batch {n}/1646 | loss={loss:.4f} ppl=217.7 lr=3.00e-04 tok/s=37481 skipped=0"
    last = ending("=====\n" + rows(form, 50, 1646, 50) + rows(form, 1646, 1646))
    assert (last["verdict"], last["last_step"]) == ("finished", 1646.0)


@pytest.mark.parametrize("status", ["3221225477", "-1073741819", "0xC0000005", "3221226505"])
def test_a_crash_on_windows_is_no_exception_of_the_launcher(status: str) -> None:
    raised = (
        "Traceback (most recent call last):\n"
        '  File "launch.py", line 637, in simple_launcher\n'
        "    raise subprocess.CalledProcessError(returncode=code, cmd=cmd)\n"
        "subprocess.CalledProcessError: Command '['python.exe', 'train.py']' returned non-zero exit status "
    )
    last = ending(rows("step {n} loss {loss:.4f}", 1, 60) + raised + status + ".\n")
    assert (last["verdict"], last["cause"]) == ("failed", "segfault")


STARTS = """\
epoch {n}/30 step 0/56 loss {loss:.4f}
epoch {n}/30 step 40/56 loss {loss:.4f}"""
STOPPED = "FatalError: `Termination signal` is detected by the operating system.\n"


def test_a_start_that_was_stopped_before_the_one_that_came_through() -> None:
    first, second = rows(STARTS, 1, 11), rows(STARTS, 12, 30)
    assert ending(first + STOPPED + second)["verdict"] == "finished"
    stopped = ending(first + STOPPED + rows(STARTS, 12, 20))
    assert (stopped["verdict"], stopped["cause"]) == ("failed", "sigterm_received")
    assert ending(first + second + STOPPED)["verdict"] == "failed"
    # A loss that is no number stops no program, and has cost the run.
    lost = ending(first + rows("epoch {n}/30 step 40/56 loss nan", 12, 30))
    assert (lost["verdict"], lost["cause"]) == ("failed", "loss_nan")
