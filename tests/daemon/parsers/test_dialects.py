"""One report in each of many dialects: which numbers are read, what they are called, and where."""

from __future__ import annotations

from typing import Any

import pytest

from middlewatch.daemon.parsers.reader import LogReader
from middlewatch.sentinels.kit import Step

Seen = dict[str, list[tuple[int, float]]]
CASES: dict[str, tuple[str, dict[str, Any]]] = {}


def case(name: str, text: str, **metrics: Any) -> None:
    """A log, and of each metric its values: a number for one in line 1, else (line, value)s."""
    assert name not in CASES
    CASES[name] = (text, metrics)


def streams(text: str) -> Seen:
    """Every metric that the log tells, in order: (line, value)."""
    reader = LogReader("a.log")
    seen: Seen = {}
    for one in reader.feed(text.encode(), 1.0) + reader.finish(1.0):
        if isinstance(one, Step):
            for name, value in (*one.values.items(), ("step", one.number), ("epoch", one.epoch)):
                if value is not None:
                    seen.setdefault(name, []).append((one.line, value))
    return seen


# ---------------------------------------------------------------- language models, step by step

case(
    "hf dict",
    "{'loss': 2.5312, 'grad_norm': 1.2034, 'learning_rate': 4.9e-05, 'epoch': 0.02}\n",
    train_loss=2.5312,
    grad_norm=1.2034,
    lr=4.9e-5,
    epoch=0.02,
)
case(
    "hf dict of strings",
    "{'loss': '2.531', 'grad_norm': '1.203', 'learning_rate': '4.9e-05', 'epoch': '0.02'}\n",
    train_loss=2.531,
    grad_norm=1.203,
    lr=4.9e-5,
    epoch=0.02,
)
case(
    "hf evaluation",
    "{'eval_loss': 1.931, 'eval_runtime': 12.31, 'eval_samples_per_second': 81.2, 'eval_steps_per_second': 10.2, 'epoch': 1.0}\n",
    eval_loss=1.931,
    epoch=1.0,
    samples_per_s=None,
    train_loss=None,
)
case(
    "hf behind its bar",
    "  3%|▎         | 30/1000 [00:41<21:33,  1.33s/it]{'loss': 1.9, 'grad_norm': 0.7, 'learning_rate': 2e-05, 'epoch': 0.1}\n",
    train_loss=1.9,
    grad_norm=0.7,
    lr=2e-5,
    step=30,
)
case(
    "hf with torch tensors",
    "{'loss': tensor(2.5312, device='cuda:0'), 'learning_rate': 1e-05, 'step': 40}\n",
    train_loss=2.5312,
    lr=1e-5,
    step=40,
)
case(
    "hf rewards",
    "{'loss': 0.0123, 'grad_norm': 0.31, 'learning_rate': 1e-06, 'reward': 0.812, 'reward_std': 0.11, 'kl': 0.0021, 'epoch': 0.3}\n",
    train_loss=None,
    grad_norm=0.31,
    lr=1e-6,
)
case(
    "dpo",
    "{'loss': 0.6712, 'grad_norm': 5.1, 'learning_rate': 5e-07, 'rewards/chosen': 0.01, 'rewards/rejected': -0.03, 'rewards/accuracies': 0.61, 'rewards/margins': 0.04, 'epoch': 0.1}\n",
    train_loss=0.6712,
    grad_norm=5.1,
)
case(
    "tqdm postfix",
    "Epoch 3:  45%|████▌     | 450/1000 [02:15<02:45,  3.33it/s, loss=0.534, lr=2.9e-5]\n",
    train_loss=0.534,
    lr=2.9e-5,
    step=450,
    epoch=3,
    step_time_s=1 / 3.33,
)
case(
    "tqdm redrawn",
    "\rtrain:   1%|          | 10/1000 [00:05<08:15,  2.00it/s, loss=4.1]\rtrain:   2%|▏         | 20/1000 [00:10<08:10,  2.00it/s, loss=3.9]\n",
    train_loss=[(1, 4.1), (1, 3.9)],
    step=[(1, 10), (1, 20)],
)
case(
    "lightning step and epoch loss",
    "Epoch 2:  12%|█▏        | 120/1000 [00:36<04:24,  3.33it/s, v_num=7, train_loss_step=1.430, train_loss_epoch=1.610]\n",
    train_loss=1.43,
    epoch=2,
    step=120,
)
case(
    "lightning at an epoch's end",
    "Epoch 0: 100%|██████████| 938/938 [00:12<00:00, 77.01it/s, v_num=0, train_loss=0.0765, val_loss=0.0812]\n",
    train_loss=0.0765,
    eval_loss=0.0812,
    epoch=0,
    step=938,
)
case(
    "megatron",
    " [2026-03-04 05:06:07] iteration      120/  500000 | consumed samples:        30720 | elapsed time per iteration (ms): 4321.5 | throughput per GPU (TFLOP/s/GPU): 412.3 | learning rate: 1.200000E-05 | global batch size:   256 | lm loss: 9.123456E+00 | loss scale: 1.0 | grad norm: 2.345 | number of skipped iterations:   0 | number of nan iterations:   0 |\n",
    step=120,
    train_loss=9.123456,
    lr=1.2e-5,
    grad_norm=2.345,
    step_time_s=4.3215,
    loss_scale=1.0,
)
case(
    "megatron validation",
    " validation loss at iteration 1000 | lm loss value: 3.123456E+00 | lm loss PPL: 2.272468E+01 | \n",
    step=1000,
    eval_loss=3.123456,
    train_loss=None,
)
case(
    "neox",
    " samples/sec: 12.312 | iteration      100/  320000 | elapsed time per iteration (ms): 8123.1 | learning rate: 1.200E-05 | approx flops per GPU: 60.1TFLOPS | lm_loss: 8.100000E+00 | loss scale: 4096.0 | number of skipped iterations:   0 | number of nan iterations:   0 |\n",
    step=100,
    samples_per_s=12.312,
    step_time_s=8.1231,
    train_loss=8.1,
    lr=1.2e-5,
)
case(
    "deepspeed engine",
    "[2026-01-02 03:04:05,678] [INFO] [logging.py:96:log_dist] [Rank 0] step=10, skipped=0, lr=[1e-05, 1e-05], mom=[(0.9, 0.95), (0.9, 0.95)]\n"
    "[2026-01-02 03:04:05,699] [INFO] [timer.py:258:stop] epoch=0/micro_step=40/global_step=10, RunningAvgSamplesPerSec=26.1, CurrSamplesPerSec=26.3, MemAllocated=12.31GB, MaxMemAllocated=40.12GB\n",
    step=[(1, 10), (2, 10)],
    lr=1e-5,
    samples_per_s=[(2, 26.1)],
)
case(
    "megatron-deepspeed steps",
    "steps: 10 loss: 3.2145 iter time (s): 1.234 samples/sec: 25.932\n",
    step=10,
    train_loss=3.2145,
    step_time_s=1.234,
    samples_per_s=25.932,
)
case(
    "nanogpt",
    "iter 100: loss 3.1234, time 132.21ms, mfu 31.20%\nstep 250: train loss 2.4512, val loss 2.5123\n",
    step=[(1, 100), (2, 250)],
    train_loss=[(1, 3.1234), (2, 2.4512)],
    eval_loss=[(2, 2.5123)],
    mfu=0.312,
    step_time_s=0.13221,
)
case(
    "nanochat",
    "step 00120/21400 (0.56%) | loss: 5.123456 | grad norm: 1.2134 | lrm: 1.00 | dt: 412.31ms | tok/sec: 1,271,512 | mfu: 45.12 | total time: 0.82m\n",
    step=120,
    train_loss=5.123456,
    grad_norm=1.2134,
    step_time_s=0.41231,
    tokens_per_s=1271512,
    mfu=0.4512,
)
case(
    "build-nanogpt",
    "step   120 | loss: 6.012345 | lr 1.0239e-04 | norm: 1.2312 | dt: 331.21ms | tok/sec: 1583012.12\n",
    step=120,
    train_loss=6.012345,
    lr=1.0239e-4,
    grad_norm=1.2312,
    step_time_s=0.33121,
    tokens_per_s=1583012.12,
)
case(
    "modded-nanogpt",
    "step:120/1750 train_loss:4.5123 train_time:12312ms step_avg:102.60ms\nstep:125/1750 val_loss:4.6012 train_time:12812ms step_avg:102.50ms\n",
    step=[(1, 120), (2, 125)],
    train_loss=4.5123,
    eval_loss=[(2, 4.6012)],
    step_time_s=[(1, 0.1026), (2, 0.1025)],
)
case(
    "llm.c",
    "step  120/19560 | loss 6.512345 (+0.12z)| norm 1.2345 (-0.30z)| lr 4.29e-05 | 1520.11 ms | 61.2% bf16 MFU | 345123 tok/s\nval loss 6.312345\n",
    step=[(1, 120), (2, 120)],
    train_loss=6.512345,
    grad_norm=1.2345,
    lr=4.29e-5,
    step_time_s=1.52011,
    mfu=0.612,
    tokens_per_s=345123,
    eval_loss=[(2, 6.312345)],
)
case(
    "llm.c, early",
    "step   12/74: train loss 4.123456 (acc 4.023456) (12.312341 ms, 41231.12 tok/s)\n",
    step=12,
    train_loss=4.123456,
    step_time_s=0.012312341,
    tokens_per_s=41231.12,
)
case(
    "litgpt",
    "Epoch 1 | iter 100 step 25 | loss train: 1.234, val: n/a | iter time: 345.67 ms (step)\nEpoch 1 | iter 104 step 26 | loss train: 1.231, val: 1.401 | iter time: 344.12 ms (step)\n",
    step=[(1, 25), (2, 26)],
    train_loss=[(1, 1.234), (2, 1.231)],
    eval_loss=[(2, 1.401)],
    step_time_s=[(1, 0.34567), (2, 0.34412)],
)
case(
    "lit-llama",
    "iter 100 step 25: loss 1.2345, time: 345.67ms\n",
    step=25,
    train_loss=1.2345,
    step_time_s=0.34567,
)
case(
    "olmo-core",
    "2026-03-04 12:00:00.123\thost01\tolmo_core.train.callbacks.console_logger:69\tINFO\t[step=100/10000,epoch=1,eta=2:31:12]\n"
    "    optim/LR (group 0)=0.0003\n    optim/total grad norm=0.912\n    throughput/device/MFU=41.2\n    throughput/device/TPS=10,123\n    train/CE loss=3.912\n    train/PPL=49.9\n",
    step=[(1, 100), (7, 100)],
    lr=[(2, 0.0003)],
    grad_norm=[(3, 0.912)],
    mfu=[(4, 0.412)],
    tokens_per_s=[(5, 10123)],
    train_loss=[(6, 3.912)],
)
case(
    "olmo",
    "2026-03-04 12:00:00.123 host01:0 olmo.train:921 INFO [step=100/739328,epoch=0]\n    train/CrossEntropyLoss=5.112\n    train/Perplexity=166.0\n    optim/total_grad_norm=1.012\n    optim/learning_rate_group0=0.0000120\n    throughput/device/tokens_per_second=12,312\n",
    step=[(1, 100), (6, 100)],
    train_loss=[(2, 5.112)],
    grad_norm=[(4, 1.012)],
    lr=[(5, 0.000012)],
    tokens_per_s=[(6, 12312)],
)
case(
    "torchtitan",
    "[rank0]:[titan] 2026-03-04 12:00:00,123 - root - INFO - \x1b[31mstep: 100  \x1b[32mloss:  5.1234  \x1b[38;2;180;60;0mgrad_norm:  0.9123  \x1b[38;2;54;234;195mmemory: 40.12GiB(50.65%)  \x1b[34mtps: 6,123  \x1b[36mtflops: 212.12  \x1b[35mmfu: 34.12%\x1b[39m\n",
    step=100,
    train_loss=5.1234,
    grad_norm=0.9123,
    tokens_per_s=6123,
    mfu=0.3412,
)
case(
    "composer",
    "[batch=100/4800]:\n\t Train time/batch: 99\n\t Train time/total_wct: 120.1\n\t Train loss/train/total: 6.1023\n\t Train lr-DecoupledAdamW/group0: 1.2e-05\n\t Train throughput/tokens_per_sec: 81231.5\n",
    step=[(1, 100), (6, 100)],
    train_loss=[(4, 6.1023)],
    lr=[(5, 1.2e-5)],
    tokens_per_s=[(6, 81231.5)],
)
case(
    "maxtext",
    "completed step: 100, seconds: 1.234, TFLOP/s/device: 150.201, Tokens/s/device: 3320.112, total_weights: 65536, loss: 8.123\n",
    step=100,
    train_loss=8.123,
    tokens_per_s=3320.112,
    step_time_s=1.234,
)
case(
    "levanter",
    "Progress on:train 1.20kit/10.0kit rate:2.1it/s remaining:1:12:03 elapsed:0:09:31 postfix:loss=3.12\n",
    step=1200,
    train_loss=3.12,
    step_time_s=1 / 2.1,
)
case(
    "nemo bar",
    "Epoch 0:   1%|          | 100/10000 [01:40<2:45:00, v_num=0, reduced_train_loss=7.812, global_step=99.0, consumed_samples=25600.0, train_step_timing in s=0.981]\n",
    train_loss=7.812,
    step_time_s=0.981,
    epoch=0,
)
case(
    "nemo lines",
    "Training epoch 0, iteration 99/999 | lr: 1.2e-05 | global_batch_size: 256 | global_step: 99 | reduced_train_loss: 7.812 | train_step_timing in s: 0.9812 | consumed_samples: 25600\n",
    step=99,
    train_loss=7.812,
    lr=1.2e-5,
    step_time_s=0.9812,
)
case(
    "unsloth notebook",
    "Step\tTraining Loss\n10\t1.231200\n20\t1.114300\n",
    step=[(2, 10), (3, 20)],
    train_loss=[(2, 1.2312), (3, 1.1143)],
)
case(
    "verl",
    "step:12 - global_seqlen/mean:8123.0 - actor/entropy:0.3123 - actor/kl_loss:0.00112 - actor/pg_loss:-0.0112 - actor/grad_norm:0.2134 - actor/lr:1e-06 - perf/throughput:1234.5 - critic/rewards/mean:0.412\n",
    step=12,
    grad_norm=0.2134,
    lr=1e-6,
    train_loss=None,
)
case(
    "torchtune",
    "Step 120 | loss:1.2341 lr:1.8e-05 tokens_per_second_per_gpu:4123.5 grad_norm:0.912\n",
    step=120,
    train_loss=1.2341,
    lr=1.8e-5,
    grad_norm=0.912,
    tokens_per_s=4123.5,
)
case(
    "colossalai",
    "[Epoch 0/3]:   4%|▍         | 40/1000 [01:02<24:55,  1.56s/it, Loss=2.1234, lr=2e-05]\n",
    train_loss=2.1234,
    epoch=0,
    step=40,
)

# ---------------------------------------------------------------- translation and speech

case(
    "fairseq",
    "2026-02-03 10:11:12 | INFO | train_inner | epoch 001:    100 / 2345 loss=9.812, ppl=899.1, wps=24123, ups=1.9, wpb=12697, bsz=321, num_updates=100, lr=1.25e-05, gnorm=1.912, loss_scale=64, train_wall=54, gb_free=20.1, wall=61\n",
    epoch=1,
    step=100,
    train_loss=9.812,
    lr=1.25e-5,
    grad_norm=1.912,
    loss_scale=64,
    tokens_per_s=24123,
)
case(
    "fairseq validation",
    "2026-02-03 10:31:12 | INFO | valid | epoch 001 | valid on 'valid' subset | loss 7.912 | nll_loss 6.8 | ppl 111.4 | wps 61231 | wpb 9123 | bsz 301 | num_updates 2345\n",
    epoch=1,
    step=2345,
    eval_loss=7.912,
    train_loss=None,
)
case(
    "fairseq epoch",
    "2026-02-03 10:31:12 | INFO | train | epoch 001 | loss 8.712 | nll_loss 7.9 | ppl 239.1 | wps 24011.5 | ups 1.89 | wpb 12700 | bsz 321 | num_updates 2345 | lr 0.000293 | gnorm 1.412 | loss_scale 64 | train_wall 1190 | gb_free 20 | wall 1243\n",
    step=2345,
    train_loss=8.712,
    lr=0.000293,
    grad_norm=1.412,
)
case(
    "fairseq json",
    '[2026-02-03 10:11:12,123][train_inner][INFO] - {"epoch": 1, "update": 0.043, "loss": "9.812", "ppl": "899.1", "wps": "24123", "ups": "1.9", "num_updates": "100", "lr": "1.25e-05", "gnorm": "1.912", "loss_scale": "64", "wall": "61"}\n',
    epoch=1,
    step=100,
    train_loss=9.812,
    lr=1.25e-5,
    grad_norm=1.912,
)
case(
    "opennmt",
    "[2026-02-03 10:11:12,123 INFO] Step 50/ 1000; acc: 12.3; ppl: 812.1; xent: 6.70; lr: 0.00012; sents:    4096; bsz: 3301/2912/64; 12312/11121 tok/s;     12 sec;\n",
    step=50,
    train_loss=6.7,
    lr=0.00012,
)
case(
    "espnet",
    "[host] 2026-03-04 12:00:00,123 (trainer:737) INFO: 3epoch:train:401-500batch: iter_time=1.204e-04, forward_time=0.121, loss_ctc=45.212, loss_att=30.104, acc=0.712, loss=34.636, backward_time=0.2, grad_norm=12.312, clip=100.000, loss_scale=1.000, optim_step_time=0.05, optim0_lr0=1.200e-04, train_time=1.432\n",
    epoch=3,
    step=500,
    train_loss=34.636,
    grad_norm=12.312,
    lr=1.2e-4,
)
case(
    "wenet",
    "2026-03-04 12:00:00,123 DEBUG TRAIN Batch 2/300 loss 34.512312 loss_att 30.112312 loss_ctc 44.812312 lr 0.00012000 rank 0\n",
    train_loss=34.512312,
    lr=0.00012,
)
case(
    "icefall",
    "2026-03-04 12:00:00,123 INFO [train.py:1021] (0/8) Epoch 3, batch 400, loss[loss=0.2312, simple_loss=0.3011, pruned_loss=0.0812, over 12345.00 frames. ], tot_loss[loss=0.2456, simple_loss=0.3101, pruned_loss=0.0912, over 2345678.90 frames. ], batch size: 41, lr: 2.12e-02, grad_scale: 8.0\n",
    epoch=3,
    step=400,
    train_loss=0.2312,
    lr=2.12e-2,
)
case(
    "speechbrain",
    "epoch: 3, lr: 1.00e-03 - train loss: 1.23 - valid loss: 1.34, valid WER: 12.31\n",
    epoch=3,
    lr=1e-3,
    train_loss=1.23,
    eval_loss=1.34,
)
case(
    "coqui",
    "   --> TIME: 2026-03-04 12:00:00 -- STEP: 24/243 -- GLOBAL_STEP: 1025\n     | > loss: 0.51231  (0.53124)\n     | > grad_norm: 1.91231  (2.01231)\n     | > current_lr: 0.00025 \n     | > step_time: 0.51230  (0.52310)\n",
    step=[(1, 1025), (5, 1025)],
    train_loss=[(2, 0.51231)],
    grad_norm=[(3, 1.91231)],
    lr=[(4, 0.00025)],
    step_time_s=[(5, 0.5123)],
)
case(
    "flair",
    "2026-03-04 12:00:00,123 epoch 3 - iter 40/400 - loss 0.31212 - time (sec): 12.31 - samples/sec: 123.41 - lr: 0.050000 - momentum: 0.000000\n",
    epoch=3,
    step=40,
    train_loss=0.31212,
    samples_per_s=123.41,
    lr=0.05,
)
case(
    "kaldi nnet1",
    "2 TRAIN AVG.LOSS 1.2345 (Xent), CV AVG.LOSS 1.3456\n" * 0
    + "Progress 1.000h, epoch 2, loss: 1.2345, lr: 0.008\n",
    epoch=2,
    train_loss=1.2345,
    lr=0.008,
)

# ---------------------------------------------------------------- vision

case(
    "mmengine",
    "2026/03/04 12:00:00 - mmengine - INFO - Epoch(train)  [3][  50/1172]  lr: 1.0000e-02  eta: 2:33:12  time: 0.2513  data_time: 0.0123  memory: 4012  grad_norm: 3.2100  loss: 0.9123  loss_cls: 0.5000  loss_bbox: 0.4123\n",
    epoch=3,
    step=50,
    lr=1e-2,
    train_loss=0.9123,
    grad_norm=3.21,
    step_time_s=0.2513,
)
case(
    "mmengine iterations",
    "2026/03/04 12:00:00 - mmengine - INFO - Iter(train) [  500/80000]  base_lr: 9.9438e-03 lr: 9.9438e-03  eta: 5:12:31  time: 0.2301  data_time: 0.0101  memory: 8123  loss: 1.2312  decode.loss_ce: 0.8012  decode.acc_seg: 61.2312  aux.loss_ce: 0.4300  aux.acc_seg: 55.1231\n",
    step=500,
    train_loss=1.2312,
    lr=9.9438e-3,
    step_time_s=0.2301,
)
case(
    "mmcv",
    "2021-03-04 12:00:00,123 - mmdet - INFO - Epoch [3][50/1172]\tlr: 1.000e-02, eta: 2:33:12, time: 0.251, data_time: 0.012, memory: 4012, loss_cls: 0.5000, loss_bbox: 0.4123, loss: 0.9123, grad_norm: 3.2112\n",
    epoch=3,
    step=50,
    lr=1e-2,
    train_loss=0.9123,
    grad_norm=3.2112,
    step_time_s=0.251,
)
case(
    "detectron2",
    "[03/04 12:00:00 d2.utils.events]:  eta: 3:12:45  iter: 1999  total_loss: 0.9421  loss_cls: 0.3112  loss_box_reg: 0.4012  loss_rpn_cls: 0.0934  loss_rpn_loc: 0.1363    time: 0.4321  last_time: 0.4211  data_time: 0.0123  last_data_time: 0.0099   lr: 0.00025  max_mem: 6123M\n",
    step=1999,
    train_loss=0.9421,
    lr=0.00025,
    step_time_s=0.4321,
)
case(
    "maskrcnn-benchmark",
    "2019-03-04 12:00:00,123 maskrcnn_benchmark.trainer INFO: eta: 1 day, 2:03:04  iter: 200  loss: 1.1231 (1.2312)  loss_classifier: 0.5 (0.6)  time: 0.5123 (0.5312)  data: 0.0112 (0.0211)  lr: 0.002500  max mem: 5123\n",
    step=200,
    train_loss=1.1231,
    lr=0.0025,
    step_time_s=0.5123,
)
case(
    "yolov5",
    "      Epoch    GPU_mem   box_loss   obj_loss   cls_loss  Instances       Size\n      0/299      3.9G     0.1123    0.06723    0.02814        112        640: 100%|██████████| 92/92 [00:31<00:00,  2.95it/s]\n",
    epoch=[(2, 0)],
    train_loss=[(2, 0.1123 + 0.06723 + 0.02814)],
)
case(
    "yolov8",
    "      Epoch    GPU_mem   box_loss   cls_loss   dfl_loss  Instances       Size\n      1/100      2.31G      1.532      3.021      1.389         41        640: 100%|██████████| 92/92 [00:31<00:00,  2.95it/s]\n",
    epoch=[(2, 1)],
    train_loss=[(2, 1.532 + 3.021 + 1.389)],
)
case(
    "timm",
    "Train: 3 [ 500/1251 ( 40%)]  Loss: 4.123 (4.56)  Time: 0.312s,  820.51/s  (0.321s,  797.51/s)  LR: 5.000e-04  Data: 0.011 (0.012)\n",
    epoch=3,
    step=500,
    train_loss=4.123,
    step_time_s=0.312,
    samples_per_s=820.51,
    lr=5e-4,
)
case(
    "detr",
    "Epoch: [0]  [  10/3696]  eta: 0:33:12  lr: 0.000100  class_error: 98.10  loss: 43.1231 (45.0112)  loss_ce: 2.1 (2.2)  loss_bbox: 3.1 (3.2)  time: 0.5123  data: 0.0112  max mem: 5123\n",
    epoch=0,
    step=10,
    lr=1e-4,
    train_loss=43.1231,
    step_time_s=0.5123,
)
case(
    "torchvision references",
    "Epoch: [2]  [ 100/5005]  eta: 0:12:33  lr: 0.1  img/s: 512.1231  loss: 6.9012 (6.9512)  acc1: 0.1000 (0.1123)  acc5: 0.5000 (0.6123)  time: 0.2500  data: 0.0021  max mem: 9123\n",
    epoch=2,
    step=100,
    lr=0.1,
    samples_per_s=512.1231,
    train_loss=6.9012,
    step_time_s=0.25,
)
case(
    "imagenet example",
    "Epoch: [0][  10/5005]\tTime  0.412 ( 0.823)\tData  0.000 ( 0.312)\tLoss 7.0123e+00 (7.0512e+00)\tAcc@1   0.00 (  0.11)\tAcc@5   0.39 (  0.51)\n",
    epoch=0,
    step=10,
    train_loss=7.0123,
    step_time_s=0.412,
)
case(
    "mnist example",
    "Train Epoch: 1 [640/60000 (1%)]\tLoss: 2.298123\n\nTest set: Average loss: 0.0512, Accuracy: 9832/10000 (98%)\n",
    epoch=[(1, 1), (3, 1)],
    step=[(1, 640), (3, 640)],
    train_loss=2.298123,
    eval_loss=[(3, 0.0512)],
)
case(
    "tf slim",
    "INFO:tensorflow:global step 409: loss = 2.5237 (0.612 sec/step)\n",
    step=409,
    train_loss=2.5237,
    step_time_s=0.612,
)
case(
    "tf estimator",
    "INFO:tensorflow:loss = 0.45123, step = 1200 (3.412 sec)\nINFO:tensorflow:global_step/sec: 29.3123\n",
    step=[(1, 1200), (2, 1200)],
    train_loss=0.45123,
)
case(
    "tf2 objects",
    "I0304 12:00:00.123456 140 model_lib_v2.py:705] Step 1000 per-step time 0.512s\n",
    step=1000,
    step_time_s=0.512,
)
case(
    "caffe",
    "I0304 12:00:00.123456  1234 solver.cpp:239] Iteration 1000 (12.1 iter/s, 8.2s/100 iters), loss = 0.3123\nI0304 12:00:00.123456  1234 sgd_solver.cpp:112] Iteration 1000, lr = 0.01\n",
    step=[(1, 1000), (2, 1000)],
    train_loss=0.3123,
    lr=[(2, 0.01)],
)
case(
    "mxnet",
    "INFO:root:Epoch[3] Batch [100]\tSpeed: 1234.12 samples/sec\taccuracy=0.712312\tcross-entropy=1.231234\n",
    epoch=3,
    step=100,
    samples_per_s=1234.12,
)
case(
    "paddleocr",
    "[2026/03/04 12:00:00] ppocr INFO: epoch: [1/500], global_step: 10, lr: 0.001000, acc: 0.000000, norm_edit_dis: 0.0001, loss: 12.312345, avg_reader_cost: 0.30112 s, avg_batch_cost: 1.10312 s, avg_samples: 128.0, ips: 116.03 samples/s, eta: 1:02:03\n",
    epoch=1,
    step=10,
    lr=0.001,
    train_loss=12.312345,
    samples_per_s=116.03,
    step_time_s=1.10312,
)
case(
    "kohya",
    "steps:  10%|█         | 100/1000 [01:40<15:00,  1.00s/it, avr_loss=0.112]\n",
    step=100,
    train_loss=0.112,
    step_time_s=1.0,
)
case(
    "diffusers",
    "Steps:   1%|          | 120/15000 [01:40<3:27:01,  1.20it/s, lr=1e-5, step_loss=0.0412]\n",
    step=120,
    train_loss=0.0412,
    lr=1e-5,
    step_time_s=1 / 1.2,
)
case(
    "cyclegan",
    "(epoch: 3, iters: 400, time: 0.123, data: 0.002) D_A: 0.213 G_A: 0.312 cycle_A: 1.212 idt_A: 0.512 D_B: 0.1 G_B: 0.2 cycle_B: 1.1 idt_B: 0.5\n",
    epoch=3,
    step=400,
    step_time_s=0.123,
    train_loss=None,
)

# ---------------------------------------------------------------- bars, tables, files

case(
    "keras step",
    "Epoch 3/20\n  45/1875 [..............................] - ETA: 1:20 - loss: 2.1432 - accuracy: 0.2311\n",
    epoch=[(1, 3), (2, 3)],
    train_loss=[(2, 2.1432)],
    step=[(2, 45)],
)
case(
    "keras epoch",
    "Epoch 3/20\n1875/1875 [==============================] - 12s 6ms/step - loss: 0.3012 - accuracy: 0.9112 - val_loss: 0.2012 - val_accuracy: 0.9412\n",
    epoch=[(1, 3), (2, 3)],
    train_loss=[(2, 0.3012)],
    eval_loss=[(2, 0.2012)],
    step_time_s=[(2, 0.006)],
)
case(
    "keras 3",
    "Epoch 3/20\n1875/1875 ━━━━━━━━━━━━━━━━━━━━ 12s 6ms/step - accuracy: 0.9112 - loss: 0.3012 - val_accuracy: 0.9400 - val_loss: 0.2001\n",
    train_loss=[(2, 0.3012)],
    eval_loss=[(2, 0.2001)],
    step_time_s=[(2, 0.006)],
)
case(
    "keras, one line an epoch",
    "Epoch 3/20\n1875/1875 - 12s - loss: 0.3012 - accuracy: 0.9112 - 12s/epoch - 6ms/step\n",
    train_loss=[(2, 0.3012)],
    step_time_s=[(2, 0.006)],
)
case(
    "sb3",
    "-----------------------------------\n| rollout/           |            |\n|    ep_len_mean     | 212        |\n|    ep_rew_mean     | 31.2       |\n| time/              |            |\n|    fps             | 1231       |\n|    total_timesteps | 20480      |\n| train/             |            |\n|    learning_rate   | 0.0003     |\n|    loss            | 12.3       |\n|    value_loss      | 31.2       |\n-----------------------------------\n",
    step=[(7, 20480), (11, 20480)],
    lr=[(9, 0.0003)],
    train_loss=None,
)
case(
    "csv",
    "step,train_loss,val_loss,lr\n100,2.31,2.41,0.0003\n200,2.11,2.31,0.0003\n",
    step=[(2, 100), (3, 200)],
    train_loss=[(2, 2.31), (3, 2.11)],
    eval_loss=[(2, 2.41), (3, 2.31)],
    lr=[(2, 0.0003), (3, 0.0003)],
)
case(
    "csv that begins with the time of day",
    "time,step,loss,images_per_s\n14:08:32,273,0.71,52.3\n14:08:33,274,0.69,52.1\n",
    step=[(2, 273), (3, 274)],
    train_loss=[(2, 0.71), (3, 0.69)],
)
case(
    "csv that begins with a date and a time",
    "date;time;epoch;train_loss\n2026-11-26;14:08:32;3;0.71\n2026-11-26;14:09:32;4;0.69\n",
    epoch=[(2, 3), (3, 4)],
    train_loss=[(2, 0.71), (3, 0.69)],
)
case(
    "csv of lightning",
    "epoch,step,train_loss,val_loss\n0,49,2.31,\n0,99,2.11,\n0,99,,2.41\n",
    step=[(2, 49), (4, 99)],
    train_loss=[(2, 2.31), (3, 2.11)],
    eval_loss=[(4, 2.41)],
)
case(
    "csv of ultralytics",
    "                  epoch,         train/box_loss,         train/cls_loss,         val/box_loss\n                      0,                1.5321,                3.0211,                1.4312\n",
    epoch=[(2, 0)],
)
case(
    "fastai",
    "epoch     train_loss  valid_loss  accuracy  time    \n0         0.812312    0.512312    0.812312  00:12     \n1         0.612312    0.412312    0.862312  00:12     \n",
    epoch=[(2, 0), (3, 1)],
    train_loss=[(2, 0.812312), (3, 0.612312)],
    eval_loss=[(2, 0.512312), (3, 0.412312)],
)
case(
    "notebook table",
    "| Step | Training Loss | Validation Loss |\n|------|---------------|-----------------|\n| 500  | 0.512300      | 0.612300        |\n",
    step=[(3, 500)],
    train_loss=[(3, 0.5123)],
    eval_loss=[(3, 0.6123)],
)
case(
    "jsonl",
    '{"step": 100, "train_loss": 2.31, "lr": 0.0003, "grad_norm": 0.91, "ts": 1760000000.1}\n{"step": 200, "eval_loss": 2.41}\n',
    step=[(1, 100), (2, 200)],
    train_loss=2.31,
    lr=0.0003,
    grad_norm=0.91,
    eval_loss=[(2, 2.41)],
)
case(
    "jsonl, nested",
    '{"step": 100, "train": {"loss": 2.31, "lr": 0.0003}, "val": {"loss": 2.41}}\n',
    step=100,
    train_loss=2.31,
    lr=0.0003,
    eval_loss=2.41,
)
case(
    "llama-factory",
    '{"current_steps": 10, "total_steps": 500, "loss": 1.2312, "lr": 4.9e-05, "epoch": 0.06, "percentage": 2.0, "elapsed_time": "0:00:41", "remaining_time": "0:33:29", "throughput": 4123.5, "total_tokens": 169123}\n',
    step=10,
    train_loss=1.2312,
    lr=4.9e-5,
    epoch=0.06,
)
case(
    "trainer_state.json",
    '{\n  "log_history": [\n    {\n      "epoch": 0.06,\n      "grad_norm": 1.9123,\n      "learning_rate": 4.9e-05,\n      "loss": 2.3123,\n      "step": 10\n    }\n  ]\n}\n',
    train_loss=[(7, 2.3123)],
    step=[(5, 10), (8, 10)],
    lr=[(6, 4.9e-5)],
    grad_norm=[(5, 1.9123)],
)
case(
    "dllogger",
    'DLLL {"timestamp": "1760000000.112", "datetime": "2026-03-04 12:00:00.112", "elapsedtime": "12.1", "type": "LOG", "step": [1, 100], "data": {"train_loss": 1.2312, "learning_rate": 0.001}}\n',
    train_loss=1.2312,
    lr=0.001,
)
case(
    "xgboost-like",
    "[10]\ttrain-logloss:0.51231\teval-logloss:0.61231\n",
    step=10,
)

# ---------------------------------------------------------------- home-made prints

case(
    "tutorial",
    "Epoch [1/20], Step [100/600], Loss: 0.3012\n",
    epoch=1,
    step=100,
    train_loss=0.3012,
)
case(
    "epoch dashes",
    "Epoch 5/100 - Train Loss: 0.3412 - Val Loss: 0.4123 - LR: 0.001\n",
    epoch=5,
    train_loss=0.3412,
    eval_loss=0.4123,
    lr=0.001,
)
case(
    "epoch bars",
    "Epoch: 03 | Epoch Time: 0m 41s\n\tTrain Loss: 3.412 | Train PPL:  30.326\n\t Val. Loss: 3.712 |  Val. PPL:  40.936\n",
    epoch=[(2, 3), (3, 3)],
    train_loss=[(2, 3.412)],
    eval_loss=[(3, 3.712)],
)
case(
    "key=value",
    "epoch=3 step=1200 loss=0.4123 lr=3.0e-4 gnorm=0.91 tok/s=123456 mfu=0.41\n",
    epoch=3,
    step=1200,
    train_loss=0.4123,
    lr=3e-4,
    grad_norm=0.91,
    tokens_per_s=123456,
    mfu=0.41,
)
case(
    "capital key=value",
    "Step=1200, Loss=2.3123, LR=3e-04\n",
    step=1200,
    train_loss=2.3123,
    lr=3e-4,
)
case(
    "loss in words",
    "Training loss at step 1200: 2.3123\n",
    step=1200,
    train_loss=2.3123,
)
case(
    "loss at step",
    "loss at step 1200: 2.3123\n",
    step=1200,
    train_loss=2.3123,
)
case(
    "tensor",
    "step 40: loss=tensor(2.3121, device='cuda:0', grad_fn=<NllLossBackward0>)\n",
    step=40,
    train_loss=2.3121,
)
case(
    "numpy",
    "epoch 4 {'train_loss': np.float64(0.4123), 'val_loss': np.float64(0.5123)}\n",
    epoch=4,
    train_loss=0.4123,
    eval_loss=0.5123,
)
case(
    "graph networks",
    "Epoch: 0010 loss_train: 1.9512 acc_train: 0.2143 loss_val: 1.9012 acc_val: 0.3500 time: 0.1212s\n",
    epoch=10,
    train_loss=1.9512,
    eval_loss=1.9012,
)
case(
    "graphs, comma",
    "Epoch: 010, Loss: 0.4123, Train: 0.8123, Val: 0.7712, Test: 0.7612\n",
    epoch=10,
    train_loss=0.4123,
)
case(
    "bracketed",
    "[Epoch 3] train_loss=0.41 val_loss=0.51 lr=1.00e-03 time=12.1s\n",
    epoch=3,
    train_loss=0.41,
    eval_loss=0.51,
    lr=1e-3,
)
case(
    "table by blanks",
    "  step     loss        lr   gnorm\n  1200   2.3121   0.00030    0.91\n  1210   2.3012   0.00030    0.88\n",
    step=[(2, 1200), (3, 1210)],
    train_loss=[(2, 2.3121), (3, 2.3012)],
    lr=[(2, 0.0003), (3, 0.0003)],
)
case(
    "iteration pipes",
    "[ 1200/50000] loss 2.3123 | lr 3.0e-04 | 12.1 it/s\n",
    step=1200,
    train_loss=2.3123,
    lr=3e-4,
    step_time_s=1 / 12.1,
)
case(
    "bert tutorial",
    "======== Epoch 1 / 4 ========\n  Batch    40  of    241.    Elapsed: 0:00:12.\n\n  Average training loss: 0.5012\n",
    train_loss=[(4, 0.5012)],
    epoch=[(1, 1), (4, 1)],
)
case(
    "accelerate",
    "03/04/2026 12:00:00 - INFO - __main__ - epoch 3: {'accuracy': 0.8123, 'train_loss': 0.4123, 'step': 1200}\n",
    epoch=3,
    train_loss=0.4123,
    step=1200,
)
case(
    "ignite",
    "2026-03-04 12:00:00,123 ignite.engine.engine.Engine INFO: Epoch[3] Iteration[100/938] Loss: 0.3123\n",
    epoch=3,
    step=100,
    train_loss=0.3123,
)
case(
    "word language model",
    "| epoch   1 |   200/ 2983 batches | lr 20.00 | ms/batch 51.23 | loss  7.63 | ppl  2051.21\n",
    epoch=1,
    step=200,
    lr=20,
    step_time_s=0.05123,
    train_loss=7.63,
)
case(
    "clu",
    "I0304 12:00:00.123456 140 logging_writer.py:48] [100] learning_rate=0.001, loss=2.3123, steps_per_sec=3.12\n",
    step=100,
    train_loss=2.3123,
    lr=0.001,
)
case(
    "absl",
    "I0304 12:00:00.123456 140 train.py:112] step: 100, loss: 2.3123\n",
    step=100,
    train_loss=2.3123,
)
case(
    "chinese",
    "[训练] 步数: 300/10000 损失: 2.3123 学习率: 1.2e-4 梯度范数: 0.9123\n",
    step=300,
    train_loss=2.3123,
    lr=1.2e-4,
    grad_norm=0.9123,
)
case(
    "chinese epochs",
    "第 3 轮 训练损失: 0.5123, 验证损失: 0.6123, 学习率: 0.001\n",
    epoch=3,
    train_loss=0.5123,
    eval_loss=0.6123,
    lr=0.001,
)
case(
    "ranks",
    "[rank1]: step 10 | loss 2.31 | grad_norm 0.91\n[rank0]: step 10 | loss 2.32 | grad_norm 0.91\n",
    step=[(1, 10), (2, 10)],
    train_loss=[(1, 2.31), (2, 2.32)],
    grad_norm=[(1, 0.91), (2, 0.91)],
)
case(
    "slurm labels",
    "0: step 10 loss 2.31\n1: step 10 loss 2.32\n",
    train_loss=[(1, 2.31), (2, 2.32)],
    step=[(1, 10), (2, 10)],
)
case(
    "german",
    "Epoche 3/20: Verlust: 0,4123, lr: 0,001\n",
    epoch=3,
    train_loss=0.4123,
    lr=0.001,
)
case(
    "syslog",
    "Mar 04 12:00:00 node3 python3[3123]: step 1200 loss 2.3123 lr 3.0e-04\n",
    step=1200,
    train_loss=2.3123,
    lr=3e-4,
)
case(
    "samples and tokens",
    "step 1200 | loss 2.3123 | 812.3 samples/s | 1.2M tok/s | 310 ms\n",
    step=1200,
    samples_per_s=812.3,
    tokens_per_s=1.2e6,
    train_loss=2.3123,
    step_time_s=0.31,
)
case(
    "arrow",
    "step 1200 -> loss: 2.3123, grad norm: 0.91\n",
    step=1200,
    train_loss=2.3123,
    grad_norm=0.91,
)
case(
    "iteration colon",
    "Iteration: 1200, Train loss: 0.4123, Val loss: 0.5012, LR: 0.001\n",
    step=1200,
    train_loss=0.4123,
    eval_loss=0.5012,
    lr=0.001,
)
case(
    "loguru",
    "2026-03-04 12:00:00.123 | INFO     | trainer.loop:train_epoch:88 - epoch 3 step 1200 loss 0.4123 lr 1.0e-03\n",
    epoch=3,
    step=1200,
    train_loss=0.4123,
    lr=1e-3,
)
case(
    "ray",
    "(TrainWorker pid=3123, ip=10.0.0.3) {'loss': 2.31, 'epoch': 0.1, 'learning_rate': 0.0001}\n",
    train_loss=2.31,
    epoch=0.1,
    lr=1e-4,
)


@pytest.mark.parametrize("name", list(CASES))
def test_a_dialect(name: str) -> None:
    text, metrics = CASES[name]
    seen = streams(text)
    for metric, wanted in metrics.items():
        told = seen.get(metric, [])
        if wanted is None:
            assert not told, metric
            continue
        places = wanted if isinstance(wanted, list) else [(1, wanted)]
        assert told, f"no {metric} among {seen}"
        for (line, value), (at, number) in zip(
            (places[0], places[-1]), (told[0], told[-1]), strict=True
        ):
            assert (line, value) == (at, pytest.approx(number, rel=1e-6)), metric


def test_nothing_is_made_up_of_what_is_missing() -> None:
    assert len(CASES) > 90
