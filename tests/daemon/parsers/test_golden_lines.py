"""One line per program and per way of printing: what is read from it.

The lines are written for the purpose, in the wording that each program has.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import pytest

from middlewatch.daemon.parsers.reader import LogReader
from middlewatch.sentinels.kit import Step

NAN = math.nan

GOLDEN: dict[str, tuple[str, dict[str, float]]] = {
    "dutch": ("stap 40 | verlies 2.31 | lr 3e-04", {"step": 40, "train_loss": 2.31, "lr": 3e-4}),
    "cntk": (
        " Minibatch[ 11- 20, 50.0%]: CrossEntropy = 2.3103 * 640",
        {"step": 20, "train_loss": 2.3103},
    ),
    "hf-trl-sft": (
        "{'loss': 1.93, 'grad_norm': 2.13, 'learning_rate': 4.9e-05, 'num_tokens': 65536.0, 'mean_token_accuracy': 0.58, 'epoch': 0.02}",
        {
            "epoch": 0.02,
            "train_loss": 1.93,
            "grad_norm": 2.13,
            "lr": 4.9e-05,
            "num_tokens": 65536,
            "mean_token_accuracy": 0.58,
        },
    ),
    "hf-dpo": (
        "{'loss': 0.6931, 'learning_rate': 5e-07, 'rewards/chosen': 0.012, 'rewards/rejected': -0.03, 'rewards/margins': 0.042, 'logps/chosen': -210.3, 'epoch': 0.04}",
        {
            "epoch": 0.04,
            "train_loss": 0.6931,
            "lr": 5e-07,
            "rewards/chosen": 0.012,
            "rewards/rejected": -0.03,
            "rewards/margins": 0.042,
            "logps/chosen": -210.3,
        },
    ),
    "hf-grpo": (
        "{'loss': 0.0, 'grad_norm': 0.21, 'learning_rate': 1e-06, 'completions/mean_length': 201.5, 'reward': 0.9, 'reward_std': 0.3, 'kl': 0.0004, 'epoch': 0.01}",
        {
            "epoch": 0.01,
            "grad_norm": 0.21,
            "lr": 1e-06,
            "completions/mean_length": 201.5,
            "reward": 0.9,
            "reward_std": 0.3,
            "kl": 0.0004,
            "loss": 0,
        },
    ),
    "hf-bar-and-dict": (
        " 12%|█▏        | 123/1000 [01:23<09:52,  1.48it/s]{'loss': 2.31, 'learning_rate': 4.4e-05, 'epoch': 0.37}",
        {
            "step": 123,
            "epoch": 0.37,
            "total": 1000,
            "step_time_s": 0.675675676,
            "train_loss": 2.31,
            "lr": 4.4e-05,
        },
    ),
    "hf-summary": (
        "{'train_runtime': 812.1, 'train_samples_per_second': 12.3, 'train_steps_per_second': 1.5, 'train_loss': 1.87, 'epoch': 3.0}",
        {"epoch": 3, "train_runtime": 812.1, "samples_per_s": 12.3},
    ),
    "swift": (
        '{"loss": 1.32, "token_acc": 0.71, "grad_norm": 0.9, "learning_rate": 9.5e-05, "memory(GiB)": 17.5, "train_speed(iter/s)": 0.4, "epoch": 0.1, "global_step/max_steps": "10/850"}',
        {
            "step": 10,
            "epoch": 0.1,
            "total": 850,
            "train_loss": 1.32,
            "token_acc": 0.71,
            "grad_norm": 0.9,
            "lr": 9.5e-05,
            "gpu_mem_bytes": 18790481920,
            "step_time_s": 2.5,
        },
    ),
    "axolotl": (
        "{'loss': '1.234', 'grad_norm': '0.51', 'learning_rate': '9.9e-06', 'ppl': '3.43', 'memory/max_active (GiB)': '34.0', 'epoch': '0.05'}",
        {
            "epoch": 0.05,
            "train_loss": 1.234,
            "grad_norm": 0.51,
            "lr": 9.9e-06,
            "ppl": 3.43,
            "gpu_mem_bytes": 36507222016,
        },
    ),
    "lightning-bar": (
        "Epoch 2: 100%|██████████| 100/100 [01:10<00:00,  1.42it/s, v_num=3, train/loss=0.31, val/loss=0.41, val/acc=0.9]",
        {
            "step": 100,
            "epoch": 2,
            "step_time_s": 0.704225352,
            "train_loss": 0.31,
            "eval_loss": 0.41,
            "accuracy": 0.9,
        },
    ),
    "lightning-rich": (
        "Epoch 12/99  ━━━━━━━━━━━━━━━━━━━━━━━━ 118/118 0:00:10 • 0:00:00 11.33it/s v_num: 0.000 train_loss: 0.213",
        {"step": 118, "epoch": 12, "epochs": 99, "step_time_s": 0.0882612533, "train_loss": 0.213},
    ),
    "lightning-callback": (
        "Epoch 3, global step 4000: 'val_loss' reached 0.412 (best 0.412), saving model to '/out/epoch=3-step=4000.ckpt' as top 1",
        {"step": 4000, "epoch": 3, "eval_loss": 0.412},
    ),
    "lightning-testing": (
        "│         test_loss         │    0.1234567    │",
        {"eval_loss": 0.1234567},
    ),
    "litgpt": (
        "Epoch 1 | iter 128 step 1 | loss train: 10.97, val: n/a | iter time: 421.12 ms (step) remaining time: 2 days, 3:11:00",
        {"step": 1, "epoch": 1, "iter": 128, "train_loss": 10.97, "step_time_s": 0.42112},
    ),
    "megatron-nan": (
        " [2024-05-01 10:00:00] iteration      100/  500000 | consumed samples:        25600 | elapsed time per iteration (ms): 1021.4 | learning rate: 1.5E-06 | lm loss: nan | grad norm: nan |",
        {
            "step": 100,
            "total": 500000,
            "train_loss": NAN,
            "grad_norm": NAN,
            "consumed samples": 25600,
            "step_time_s": 1.0214,
            "lr": 1.5e-06,
        },
    ),
    "megatron-validation": (
        " validation loss at iteration 1000 | lm loss value: 3.021 | lm loss PPL: 20.51 | ",
        {"step": 1000, "eval_loss": 3.021, "lm loss PPL": 20.51},
    ),
    "gpt-neox": (
        " samples/sec: 102.312 | iteration       10/  320000 | elapsed time per iteration (ms): 2502.2 | learning rate: 1.000E-06 | approx flops per GPU: 61.2TFLOPS | lm_loss: 1.0861E+01 | loss scale: 4096.0 |",
        {
            "step": 10,
            "total": 320000,
            "samples_per_s": 102.312,
            "step_time_s": 2.5022,
            "lr": 1e-06,
            "approx flops per GPU": 61.2,
            "train_loss": 10.861,
            "loss_scale": 4096,
        },
    ),
    "nemo-log": (
        "Training epoch 0, iteration 10/999 | lr: 2.5e-05 | global_batch_size: 32 | global_step: 10 | reduced_train_loss: 8.21 | train_step_timing in s: 1.23",
        {
            "step": 10,
            "epoch": 0,
            "lr": 2.5e-05,
            "global_batch_size": 32,
            "train_loss": 8.21,
            "step_time_s": 1.23,
        },
    ),
    "nemo-bar": (
        "Epoch 0: :  12%|█▏        | 120/1000 [03:01<22:10, v_num=0, reduced_train_loss=8.21, global_step=119.0, train_step_timing in s=1.31]",
        {"step": 119, "epoch": 0, "train_loss": 8.21, "step_time_s": 1.31},
    ),
    "olmo": (
        "2024-05-01 10:00:00.123\thost:0\tolmo.train:891\tINFO\t[step=120/556000,epoch=0]",
        {"step": 120, "epoch": 0, "total": 556000},
    ),
    "olmo-core": (
        "[2024-05-01 10:00:00] INFO     [olmo_core.train.callbacks.console_logger:69, rank=0] [step=120/556000,epoch=1,eta=3 days, 2:11:00]",
        {"step": 120, "epoch": 1, "total": 556000, "rank": 0},
    ),
    "torchtitan-colours": (
        "[rank0]:2024-05-01 10:00:00,123 - root - INFO - \x1b[31mstep: 10  \x1b[32mloss:  8.1234  \x1b[38;2;180;60;0mgrad_norm:  2.1312  \x1b[33mmemory: 21.5GiB(26.9%)  \x1b[34mtps: 7,312  \x1b[35mmfu: 38.41%\x1b[39m",
        {
            "step": 10,
            "rank": 0,
            "train_loss": 8.1234,
            "grad_norm": 2.1312,
            "gpu_mem_bytes": 23085449216,
            "tokens_per_s": 7312,
            "mfu": 0.3841,
        },
    ),
    "torchtune-bar": (
        "1|25|Loss: 1.2345678:   3%|▎         | 25/800 [00:31<15:21,  1.19s/it]",
        {"step": 25, "total": 800, "step_time_s": 1.19, "train_loss": 1.2345678},
    ),
    "torchtune-log": (
        "Step 25 | loss:1.2345 lr:2e-05 tokens_per_second_per_gpu:1021.2 peak_memory_active:12.5",
        {
            "step": 25,
            "train_loss": 1.2345,
            "lr": 2e-05,
            "tokens_per_s": 1021.2,
            "gpu_mem_bytes": 13421772800,
        },
    ),
    "nanotron": (
        "05/01/2024 10:00:00 [INFO|DP=0|PP=1|TP=0|host]: iteration: 20 / 1000 | consumed_tokens: 83.9M | elapsed_time_per_iteration_ms: 1.23K | tokens_per_sec: 3.41M | tokens_per_sec_per_gpu: 53.3K | lm_loss: 8.21 | lr: 0.0003 | grad_norm: 1.31",
        {
            "step": 20,
            "total": 1000,
            "consumed_tokens": 83900000,
            "step_time_s": 1.23,
            "tokens_per_s": 3410000,
            "tokens_per_sec_per_gpu": 53300,
            "train_loss": 8.21,
            "lr": 0.0003,
            "grad_norm": 1.31,
        },
    ),
    "maxtext": (
        "completed step: 12, seconds: 3.412, TFLOP/s/device: 180.121, Tokens/s/device: 4801.2, total_weights: 65536, loss: 8.231",
        {
            "step": 12,
            "step_time_s": 3.412,
            "TFLOP/s/device": 180.121,
            "tokens_per_s": 4801.2,
            "total_weights": 65536,
            "train_loss": 8.231,
        },
    ),
    "levanter": (
        "Progress on:train 120it/10.0kit rate:1.2it/s remaining:2:10:00 elapsed:01:40 postfix:loss=6.123",
        {"step": 120, "total": 10000, "step_time_s": 0.833333333, "train_loss": 6.123},
    ),
    "algoperf": (
        "I0501 10:00:00.123456 140123 submission_runner.py:312] Time since start: 31.21s, \tStep: 312, \t{'train/accuracy': 0.12, 'train/loss': 6.31, 'validation/accuracy': 0.11, 'validation/loss': 6.41, 'test/loss': 6.5, 'global_step': 312}",
        {
            "step": 312,
            "Time since start": 31.21,
            "train/accuracy": 0.12,
            "train_loss": 6.31,
            "accuracy": 0.11,
            "eval_loss": 6.41,
            "test/loss": 6.5,
            "global_step": 312,
        },
    ),
    "clu-writer": (
        "I0501 10:00:00.123456 139123 logging_writer.py:48] [312] global_step=312, grad_norm=1.312110, loss=6.312110",
        {"step": 312, "global_step": 312, "grad_norm": 1.31211, "train_loss": 6.31211},
    ),
    "fairseq-json": (
        '2024-05-01 10:00:00 | INFO | train_inner | {"epoch": 1, "update": 0.012, "loss": "14.21", "nll_loss": "14.1", "wps": "21023.1", "num_updates": "100", "lr": "1.2e-05", "gnorm": "4.2", "loss_scale": "128"}',
        {
            "step": 100,
            "epoch": 1,
            "update": 0.012,
            "train_loss": 14.21,
            "nll_loss": 14.1,
            "tokens_per_s": 21023.1,
            "lr": 1.2e-05,
            "grad_norm": 4.2,
            "loss_scale": 128,
        },
    ),
    "fairseq-valid": (
        "2024-05-01 10:00:00 | INFO | valid | epoch 002 | valid on 'valid' subset | loss 6.012 | nll_loss 4.5 | wps 54321 | num_updates 2200 | best_loss 6.012",
        {"step": 2200, "epoch": 2, "eval_loss": 6.012, "wps": 54321, "best_loss": 6.012},
    ),
    "espnet-train": (
        "[host] 2024-05-01 10:00:00,123 (trainer:763) INFO: 3epoch:train:401-500batch: iter_time=0.002, loss_ctc=51.2, loss_att=31.2, acc=0.71, loss=37.2, grad_norm=6.1, clip=100.0, loss_scale=1.0",
        {
            "step": 500,
            "epoch": 3,
            "step_time_s": 0.002,
            "loss_ctc": 51.2,
            "loss_att": 31.2,
            "accuracy": 0.71,
            "train_loss": 37.2,
            "grad_norm": 6.1,
            "clip": 100,
            "loss_scale": 1,
        },
    ),
    "espnet-results": (
        "[host] 2024-05-01 10:00:00,123 (trainer:357) INFO: 3epoch results: [train] loss_ctc=50.2, acc=0.72, loss=36.3, [valid] loss_ctc=31.2, acc=0.81, loss=25.1",
        {
            "epoch": 3,
            "loss_ctc": 50.2,
            "train acc": 0.72,
            "train_loss": 36.3,
            "accuracy": 0.81,
            "eval_loss": 25.1,
        },
    ),
    "wenet": (
        "2024-05-01 10:00:00,123 DEBUG TRAIN Batch 0/100 loss 61.2 loss_att 50.1 loss_ctc 80.2 lr 0.00012 rank 0",
        {
            "step": 0,
            "total": 100,
            "rank": 0,
            "train_loss": 61.2,
            "loss_att": 50.1,
            "loss_ctc": 80.2,
            "lr": 0.00012,
        },
    ),
    "icefall": (
        "2024-05-01 10:00:00,123 INFO [train.py:901] (0/4) Epoch 2, batch 1050, loss[loss=0.2413, simple_loss=0.31, over 4812.00 frames. ], tot_loss[loss=0.2612, simple_loss=0.33, over 961202.11 frames.], batch size: 21, lr: 2.91e-02",
        {
            "step": 1050,
            "epoch": 2,
            "train_loss": 0.2413,
            "simple_loss": 0.31,
            "over": 4812,
            "batch size": 21,
            "lr": 0.0291,
        },
    ),
    "speechbrain": (
        "epoch: 3, lr: 1.00e-03 - train loss: 1.21 - valid loss: 1.31, valid PER: 14.21",
        {"epoch": 3, "lr": 0.001, "train_loss": 1.21, "eval_loss": 1.31, "valid PER": 14.21},
    ),
    "detectron2": (
        "[05/01 10:00:00 d2.utils.events]:  eta: 3:21:10  iter: 19  total_loss: 2.31  loss_cls: 0.91  loss_box_reg: 0.31    time: 0.31  last_time: 0.30  data_time: 0.012   lr: 4.9e-06  max_mem: 2048M",
        {
            "step": 19,
            "train_loss": 2.31,
            "loss_cls": 0.91,
            "loss_box_reg": 0.31,
            "step_time_s": 0.31,
            "last_time": 0.3,
            "data_time": 0.012,
            "lr": 4.9e-06,
            "gpu_mem_bytes": 2147483648,
        },
    ),
    "mmengine-iter": (
        "05/01 10:00:00 - mmengine - INFO - Iter(train) [  100/160000]  lr: 1.0e-02  eta: 1 day, 3:21:00  time: 0.51  data_time: 0.01  memory: 6102  loss: 2.12  decode.loss_ce: 1.5",
        {
            "step": 100,
            "total": 160000,
            "lr": 0.01,
            "step_time_s": 0.51,
            "data_time": 0.01,
            "gpu_mem_bytes": 6398410752,
            "train_loss": 2.12,
            "decode.loss_ce": 1.5,
        },
    ),
    "mmcv": (
        "2024-05-01 10:00:00,123 - mmdet - INFO - Epoch [1][50/7330]\tlr: 1.978e-03, eta: 12:11:01, time: 0.512, data_time: 0.05, memory: 3711, loss_rpn_cls: 0.6, loss_cls: 1.2, loss: 2.31",
        {
            "step": 50,
            "epoch": 1,
            "lr": 0.001978,
            "step_time_s": 0.512,
            "data_time": 0.05,
            "gpu_mem_bytes": 3891265536,
            "loss_rpn_cls": 0.6,
            "loss_cls": 1.2,
            "train_loss": 2.31,
        },
    ),
    "mmcv-json-val": (
        '{"mode": "val", "epoch": 3, "iter": 625, "lr": 0.0001, "bbox_mAP": 0.21, "loss": 2.5}',
        {"step": 625, "epoch": 3, "lr": 0.0001, "bbox_mAP": 0.21, "eval_loss": 2.5},
    ),
    "yolox": (
        "2024-05-01 10:00:00.123 | INFO     | yolox.core.trainer:after_iter:270 - epoch: 1/300, iter: 10/924, gpu mem: 5120Mb, mem: 12.1Gb, iter_time: 0.812s, data_time: 0.001s, total_loss: 17.1, iou_loss: 4.6, lr: 1.2e-06, ETA: 2 days, 12:10:01",
        {
            "step": 10,
            "epoch": 1,
            "epochs": 300,
            "gpu_mem_bytes": 5368709120,
            "step_time_s": 0.812,
            "data_time": 0.001,
            "train_loss": 17.1,
            "iou_loss": 4.6,
            "lr": 1.2e-06,
        },
    ),
    "darknet": (
        " 1000: 2.312011, 2.512000 avg loss, 0.001300 rate, 3.412010 seconds, 64000 images, 3.1 hours left",
        {"step": 1000, "train_loss": 2.312011, "lr": 0.0013, "step_time_s": 3.41201},
    ),
    "yolact": (
        "[  1]    1490 || B: 5.494 | C: 3.176 | M: 7.190 | S: 1.386 | T: 17.246 || ETA: 197 days, 1:47:05 || timer: 0.303",
        {
            "step": 1490,
            "epoch": 1,
            "B": 5.494,
            "C": 3.176,
            "M": 7.19,
            "S": 1.386,
            "train_loss": 17.246,
            "step_time_s": 0.303,
        },
    ),
    "paddledet": (
        "[05/01 10:00:00] ppdet.engine INFO: Epoch: [0] [  20/1310] learning_rate: 0.000100 loss_xy: 4.1 loss: 120.1 eta: 3 days, 1:00:00 batch_cost: 0.5123 data_cost: 0.0012 ips: 46.8 images/s",
        {
            "step": 20,
            "epoch": 0,
            "lr": 0.0001,
            "loss_xy": 4.1,
            "train_loss": 120.1,
            "step_time_s": 0.5123,
            "data_cost": 0.0012,
            "samples_per_s": 46.8,
        },
    ),
    "paddleclas": (
        "[2024/05/01 10:00:00] ppcls INFO: [Train][Epoch 1/120][Iter: 10/5005]lr(LinearWarmup): 0.0005, top1: 0.0012, CELoss: 6.95, loss: 6.95, batch_cost: 0.31s, ips: 812.1 samples/s, eta: 2 days, 1:10:00",
        {
            "step": 10,
            "epoch": 1,
            "epochs": 120,
            "lr": 0.0005,
            "accuracy": 0.0012,
            "CELoss": 6.95,
            "train_loss": 6.95,
            "step_time_s": 0.31,
            "samples_per_s": 812.1,
        },
    ),
    "paddleocr": (
        "[2024/05/01 10:00:00] ppocr INFO: epoch: [3/500], global_step: 120, lr: 0.001, loss: 3.21, acc: 0.12, avg_batch_cost: 0.31 s, ips: 412.1 samples/s, eta: 1:10:11",
        {
            "step": 120,
            "epoch": 3,
            "epochs": 500,
            "lr": 0.001,
            "train_loss": 3.21,
            "accuracy": 0.12,
            "step_time_s": 0.31,
            "samples_per_s": 412.1,
        },
    ),
    "tf-estimator": (
        "INFO:tensorflow:loss = 2.3125, step = 100 (1.213 sec)",
        {"step": 100, "train_loss": 2.3125},
    ),
    "tf-objdet-1": (
        "INFO:tensorflow:global step 409: loss = 2.21 (0.312 sec/step)",
        {"step": 409, "train_loss": 2.21, "step_time_s": 0.312},
    ),
    "tf-objdet-2": (
        "I0501 10:00:00.123456 140123456789 model_lib_v2.py:705] Step 100 per-step time 0.312s loss=2.31",
        {"step": 100, "step_time_s": 0.312, "train_loss": 2.31},
    ),
    "keras-3": (
        "  12/1875 ━━━━━━━━━━━━━━━━━━━━ 4s 2ms/step - accuracy: 0.9123 - loss: 0.2931",
        {"step": 12, "step_time_s": 0.002, "accuracy": 0.9123, "train_loss": 0.2931},
    ),
    "pytorch-quickstart": (
        "loss: 2.312312  [ 6400/60000]",
        {"step": 6400, "train_loss": 2.312312},
    ),
    "pytorch-cifar": (
        "[1,  2000] loss: 2.187",
        {"step": 2000, "epoch": 1, "train_loss": 2.187},
    ),
    "pytorch-mnist-test": (
        "Test set: Average loss: 0.0512, Accuracy: 9832/10000 (98%)",
        {"eval_loss": 0.0512, "accuracy": 0.98},
    ),
    "pytorch-imagenet": (
        "Epoch: [3][ 120/5005]\tTime  0.312 ( 0.412)\tData  0.001 ( 0.012)\tLoss 2.3121e+00 (2.4121e+00)\tAcc@1  51.21 ( 50.1)",
        {
            "step": 120,
            "epoch": 3,
            "step_time_s": 0.312,
            "Data": 0.001,
            "train_loss": 2.3121,
            "accuracy": 0.5121,
        },
    ),
    "dcgan": (
        "[1/25][50/1583]\tLoss_D: 0.4312\tLoss_G: 4.1231\tD(x): 0.812\tD(G(z)): 0.12 / 0.02",
        {"step": 50, "epoch": 1, "epochs": 25, "Loss_D": 0.4312, "Loss_G": 4.1231, "D(x)": 0.812},
    ),
    "cyclegan": (
        "(epoch: 3, iters: 400, time: 0.312, data: 0.002) G_GAN: 0.812 G_L1: 12.1 D_real: 0.312 D_fake: 0.41",
        {
            "step": 400,
            "epoch": 3,
            "step_time_s": 0.312,
            "data": 0.002,
            "G_GAN": 0.812,
            "G_L1": 12.1,
            "D_real": 0.312,
            "D_fake": 0.41,
        },
    ),
    "stylegan": (
        "tick 12    kimg 48.4     time 12m 12s      sec/tick 61.2    sec/kimg 15.31   maintenance 0.1    gpumem 8.12",
        {
            "step": 12,
            "kimg": 48.4,
            "time": 12,
            "step_time_s": 61.2,
            "sec/kimg": 15.31,
            "maintenance": 0.1,
            "gpu_mem_bytes": 8514437.12,
        },
    ),
    "kohya": (
        "steps:  12%|█▏        | 120/1000 [01:12<08:51,  1.66it/s, avr_loss=0.0912]",
        {"step": 120, "total": 1000, "step_time_s": 0.602409639, "train_loss": 0.0912},
    ),
    "diffusers": (
        "Steps:  12%|█▏        | 120/1000 [01:12<08:51,  1.66it/s, lr=1e-5, step_loss=0.0912]",
        {"step": 120, "total": 1000, "step_time_s": 0.602409639, "lr": 1e-05, "train_loss": 0.0912},
    ),
    "gaussian-splatting": (
        "Training progress:  12%|█▏        | 3600/30000 [01:12<08:51, 49.6it/s, Loss=0.0912312]",
        {"step": 3600, "total": 30000, "step_time_s": 0.0201612903, "train_loss": 0.0912312},
    ),
    "nerf": (
        "[TRAIN] Iter: 1200 Loss: 0.031212  PSNR: 21.2",
        {"step": 1200, "train_loss": 0.031212, "PSNR": 21.2},
    ),
    "swin-train": (
        "[2024-05-01 10:00:00 swin_tiny] (main.py 231): INFO Train: [3/300][120/1251]\teta 0:12:10 lr 0.000120\ttime 0.5121 (0.5221)\tloss 6.3121 (6.4121)\tgrad_norm 1.3121 (inf)\tmem 12312MB",
        {
            "step": 120,
            "epoch": 3,
            "epochs": 300,
            "lr": 0.00012,
            "step_time_s": 0.5121,
            "train_loss": 6.3121,
            "grad_norm": 1.3121,
            "gpu_mem_bytes": 12910067712,
        },
    ),
    "swin-test": (
        "[2024-05-01 10:00:00 swin_tiny] (main.py 291): INFO Test: [10/49]\tTime 0.512 (0.6)\tLoss 0.8121 (0.9)\tAcc@1 81.2 (80.1)",
        {"eval_loss": 0.8121, "accuracy": 0.812},
    ),
    "detr-json": (
        '{"train_lr": 0.0001, "train_class_error": 98.2, "train_loss": 18.2, "train_loss_ce": 1.2, "test_loss": 14.3, "epoch": 3, "n_parameters": 41000000}',
        {
            "epoch": 3,
            "lr": 0.0001,
            "train_class_error": 98.2,
            "train_loss": 18.2,
            "train_loss_ce": 1.2,
            "eval_loss": 14.3,
            "n_parameters": 41000000,
        },
    ),
    "so-vits-svc": (
        "INFO:44k:Losses: [2.31, 2.11, 9.21, 17.1, 1.01], step: 3200, lr: 9.9e-05, reference_loss: 31.2",
        {"step": 3200, "loss_disc": 2.31, "loss_gen": 2.11, "lr": 9.9e-05},
    ),
    "tianshou": (
        "Epoch #1: 10001it [00:10, 950.12it/s, env_step=10000, len=312, loss=0.012, n/ep=0, rew=12.00]",
        {
            "step": 10000,
            "epoch": 1,
            "step_time_s": 0.00105249863,
            "len": 312,
            "n/ep": 0,
            "rew": 12,
            "loss": 0.012,
        },
    ),
    "rl-games": (
        "fps step: 12312 fps step and policy inference: 12123 fps total: 11231 epoch: 12/500 frames: 123124",
        {
            "step": 123124,
            "epoch": 12,
            "epochs": 500,
            "fps step": 12312,
            "fps step and policy inference": 12123,
            "fps total": 11231,
        },
    ),
    "verl": (
        "step:12 - actor/entropy:0.412 - actor/pg_loss:-0.012 - actor/grad_norm:0.31 - perf/time_per_step:12.1 - critic/rewards/mean:0.4",
        {
            "step": 12,
            "actor/entropy": 0.412,
            "actor/pg_loss": -0.012,
            "grad_norm": 0.31,
            "step_time_s": 12.1,
            "critic/rewards/mean": 0.4,
        },
    ),
    "openrlhf": (
        "Train epoch [1/1]:  12%|█▏        | 12/100 [01:12<08:51,  6.01s/it, gpt_loss=2.31, loss_mean=2.4, lr=9e-6]",
        {
            "step": 12,
            "epoch": 1,
            "epochs": 1,
            "step_time_s": 6.01,
            "gpt_loss": 2.31,
            "train_loss": 2.4,
            "lr": 9e-06,
        },
    ),
    "cleanrl": (
        "global_step=4096, episodic_return=[21.]",
        {"step": 4096, "episodic_return": 21},
    ),
    "deepspeed-timer": (
        "[2024-05-01 10:00:00,124] [INFO] [timer.py:260:stop] epoch=0/micro_step=10/global_step=10, RunningAvgSamplesPerSec=12.1, CurrSamplesPerSec=12.3, MemAllocated=4.1GB, MaxMemAllocated=12.5GB",
        {
            "step": 10,
            "epoch": 0,
            "micro_step": 10,
            "samples_per_s": 12.1,
            "CurrSamplesPerSec": 12.3,
            "MemAllocated": 4.1,
            "gpu_mem_bytes": 13421772800,
        },
    ),
    "deepspeed-hosts": (
        "worker-3: [2024-05-01 10:00:00,123] [INFO] [Rank 24] step=10, skipped=0, lr=[9e-06]",
        {"step": 10, "rank": 24, "skipped": 0, "lr": 9e-06},
    ),
    "xgboost": (
        "[12]\ttrain-rmse:0.31231\teval-rmse:0.41231",
        {"step": 12, "train_loss": 0.31231, "eval-rmse": 0.41231},
    ),
    "lightgbm": (
        "[12]\ttraining's binary_logloss: 0.312\tvalid_1's binary_logloss: 0.412",
        {"step": 12, "training's binary_logloss": 0.312, "valid_1's binary_logloss": 0.412},
    ),
    "catboost": (
        "12:\tlearn: 0.3121312\ttest: 0.4121312\tbest: 0.4121312 (12)\ttotal: 1.21s\tremaining: 3m 12s",
        {"step": 12, "learn": 0.3121312, "test": 0.4121312, "best": 0.4121312, "Total": 1.21},
    ),
    "flair": (
        "epoch 1 - iter 12/123 - loss 2.31231212 - time (sec): 12.31 - samples/sec: 123.12 - lr: 0.000012",
        {
            "step": 12,
            "epoch": 1,
            "train_loss": 2.31231212,
            "time (sec)": 12.31,
            "samples_per_s": 123.12,
            "lr": 1.2e-05,
        },
    ),
    "allennlp": (
        "accuracy: 0.5123, batch_loss: 0.7, loss: 0.6812 ||:  12%|#1        | 12/100 [00:12<01:12, 1.23it/s]",
        {
            "step": 12,
            "total": 100,
            "step_time_s": 0.81300813,
            "accuracy": 0.5123,
            "batch_loss": 0.7,
            "train_loss": 0.6812,
        },
    ),
    "marian": (
        "Ep. 1 : Up. 1000 : Sen. 12,345 : Cost 6.12312 : Time 31.21s : 8123.12 words/s : gNorm 0.5123 : L.r. 3.0000e-04",
        {
            "step": 1000,
            "epoch": 1,
            "train_loss": 6.12312,
            "tokens_per_s": 8123.12,
            "grad_norm": 0.5123,
            "lr": 0.0003,
        },
    ),
    "opennmt": (
        "[2024-05-01 10:00:00] Step 1050/100000; acc:  12.31; ppl: 812.12; xent: 6.70; lr: 0.00012; 12312/11121 tok/s;    312 sec",
        {"step": 1050, "total": 100000, "train_loss": 6.7, "lr": 0.00012, "tokens_per_s": 12312},
    ),
    "sklearn": (
        "Iteration 1, loss = 0.69314718",
        {"step": 1, "train_loss": 0.69314718},
    ),
    "llm-c": (
        "step   12/18865 | loss 7.123451 (+0.12z)| norm 1.2312 (-0.1z)| lr 1.29e-05 | 1210.11 ms | 35.1% bf16 MFU | 433211 tok/s",
        {
            "step": 12,
            "total": 18865,
            "train_loss": 7.123451,
            "grad_norm": 1.2312,
            "lr": 1.29e-05,
            "step_time_s": 1.21011,
            "mfu": 0.351,
            "tokens_per_s": 433211,
        },
    ),
    "build-nanogpt-val": (
        "250 val 10.2312",
        {"step": 250, "eval_loss": 10.2312},
    ),
    "mlx-lm": (
        "Iter 10: Train loss 2.312, Learning Rate 1.000e-05, It/sec 1.25, Tokens/sec 512.101, Trained Tokens 4123, Peak mem 12.5 GB",
        {
            "step": 10,
            "train_loss": 2.312,
            "lr": 1e-05,
            "step_time_s": 0.8,
            "tokens_per_s": 512.101,
            "gpu_mem_bytes": 13421772800,
        },
    ),
    "ggml": (
        "train_opt_callback: iter=    12 sample=13/1000 sched=0.120000 loss=3.121212 dt=00:00:12 eta=00:10:00 |->",
        {"step": 12, "train_loss": 3.121212},
    ),
    "dllogger": (
        "DLL 2024-05-01 10:00:00.324733 - Training Epoch: 0 Training Iteration: 651  step_loss : 2.0511  learning_rate : 2.9e-05",
        {"step": 651, "epoch": 0, "train_loss": 2.0511, "lr": 2.9e-05},
    ),
    "paddle-hapi": (
        "step  10/938 [..............................] - loss: 0.3125 - acc: 0.91 - 12ms/step",
        {"step": 10, "train_loss": 0.3125, "accuracy": 0.91, "step_time_s": 0.012},
    ),
    "fastprogress": (
        " 45.00% [45/100 00:10<00:12 0.3312]",
        {"step": 45, "total": 100},
    ),
    "cross-section": (
        "{'epoch': 3, 'train': {'loss': 0.31, 'acc': 0.8}, 'val': {'loss': 0.41, 'acc': 0.7}}",
        {"epoch": 3, "train_loss": 0.31, "train acc": 0.8, "eval_loss": 0.41, "accuracy": 0.7},
    ),
    "pyg": (
        "Epoch: 001, Loss: 1.9431, Train: 0.3121, Val: 0.2123, Test: 0.2212",
        {"epoch": 1, "train_loss": 1.9431, "Train": 0.3121, "Val": 0.2123, "Test": 0.2212},
    ),
    "restoration": (
        "2024-05-01 11:54:51,376 - INFO: ===> Epoch[3](120/500): Loss: 0.1234 || Learning rate: lr=0.0001.",
        {"step": 120, "epoch": 3, "train_loss": 0.1234, "lr": 0.0001},
    ),
    "julia": (
        "[ Info: epoch = 3, train_loss = 0.21",
        {"epoch": 3, "train_loss": 0.21},
    ),
    "decimal-comma": (
        "step 100: loss=2,3145 lr=0,0001",
        {"step": 100, "train_loss": 2.3145, "lr": 0.0001},
    ),
    "spanish": (
        "Época 3/10 - pérdida: 0,3121",
        {"epoch": 3, "epochs": 10, "train_loss": 0.3121},
    ),
    "russian": (
        "Эпоха 3/10, потери: 0.31",
        {"epoch": 3, "epochs": 10, "train_loss": 0.31},
    ),
    "japanese": (
        "エポック 3/10, 損失: 0.31",
        {"epoch": 3, "epochs": 10, "train_loss": 0.31},
    ),
    "chinese-fractions": (
        "第 12/50 轮 | 步 300/1000 | 损失：2.31 | 学习率：1e-4 | 准确率：81.2% | 梯度范数：0.8",
        {
            "step": 300,
            "epoch": 12,
            "total": 1000,
            "epochs": 50,
            "train_loss": 2.31,
            "lr": 0.0001,
            "accuracy": 0.812,
            "grad_norm": 0.8,
        },
    ),
    "chinese-brackets": (
        "[训练] 步骤 100/1000 损失=0.31",
        {"step": 100, "total": 1000, "train_loss": 0.31},
    ),
    "chinese-epoch": (
        "轮次: 3, 训练损失: 0.312, 验证损失: 0.412, 验证准确率: 0.91",
        {"epoch": 3, "train_loss": 0.312, "eval_loss": 0.412, "accuracy": 0.91},
    ),
    "nan-word": (
        "global_step=20480 | loss: nan",
        {"step": 20480, "train_loss": NAN},
    ),
    "bar-in-chinese": (
        "Epoch 10/30 [训练]: 100%|████████| 125/125 [02:15<00:00, loss=0.3245, dice=0.7856, lr=0.000100]",
        {
            "step": 125,
            "epoch": 10,
            "epochs": 30,
            "train_loss": 0.3245,
            "dice": 0.7856,
            "lr": 0.0001,
        },
    ),
    "bar-of-epochs": (
        "Epoch 462/1000:  46%|█████     | 462/1000 [14:09<16:28,  1.84s/it, v_num=1, train_loss_step=2.36e+3, train_loss_epoch=2.56e+3]",
        {
            "step": 462,
            "epoch": 462,
            "epochs": 1000,
            "step_time_s": 1.84,
            "train_loss": 2360,
            "train_loss_epoch": 2560,
        },
    ),
    "bar-wrapped": (
        "223/223 [1:56:20<00:00, 31.30s/it, v_num=54, train_loss_step=0.326, val_loss_step=0.324, train_loss_epoch=0.349]",
        {
            "step": 223,
            "total": 223,
            "step_time_s": 31.3,
            "train_loss": 0.326,
            "eval_loss": 0.324,
            "train_loss_epoch": 0.349,
        },
    ),
    "lightning-plain-table": (
        "         test_loss_epoch        2.4767603874206543",
        {"eval_loss": 2.47676039},
    ),
    "olmo-eval": (
        "    eval/c4_val_proxy/CrossEntropyLoss=2.1",
        {"eval_loss": 2.1},
    ),
    "counters-of-any-word": (
        "pass 2/4 block 15/60 mse 0.30955",
        {"epoch": 2, "epochs": 4, "step": 15, "train_loss": 0.30955},
    ),
    "counter-of-any-word": (
        "[12:33] Durchgang 7/40 | Verlust: 0,312",
        {"step": 7, "total": 40, "train_loss": 0.312},
    ),
    "which-one-and-not-how-far": ("fold 2/5 loss 0.31", {"train_loss": 0.31}),
    "boxed": (
        "│ 📉 训练损失: 0.9234                                                │",
        {"train_loss": 0.9234},
    ),
}


def numbers(step: Step) -> dict[str, float]:
    ours = {
        "step": step.number,
        "epoch": step.epoch,
        "total": step.total,
        "epochs": step.epochs,
        "rank": step.rank,
    }
    return {**step.values, **{k: v for k, v in ours.items() if v is not None}}


def steps(text: str) -> list[Step]:
    reader = LogReader("run.log")
    said = reader.feed((text + "\n").encode(), 1.0) + reader.finish(1.0)
    return [o for o in said if isinstance(o, Step)]


def misread(read: Callable[[str], list[Step]]) -> dict[str, list[dict[str, float]]]:
    """What was read of the lines of which something else was wanted."""
    found = {name: [numbers(step) for step in read(line)] for name, (line, _) in GOLDEN.items()}
    return {
        name: read
        for name, read in found.items()
        if read != [pytest.approx(GOLDEN[name][1], nan_ok=True)]
    }


def test_reads_all_of_it_and_nothing_else() -> None:
    assert misread(steps) == {}


def test_its_plan_reads_the_same() -> None:
    assert misread(lambda line: steps(f"{line}\n\n\n{line}")[-1:]) == {}
