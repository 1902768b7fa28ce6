from __future__ import annotations

import pytest

from middlewatch.daemon.parsers.reader import LogReader
from middlewatch.sentinels.kit import CheckpointSaved, Observation, Phase


def read(line: str) -> list[Observation]:
    return LogReader("run.log").feed(line.encode() + b"\n", 1.0)


@pytest.mark.parametrize(
    ("line", "name"),
    [
        ("***** Running training *****", "start"),
        ("***** Running Evaluation *****", "evaluate"),
        ("Compiling the model, this may take a minute", "compile"),
        ("Loading checkpoint from out/step_100.pt", "load"),
        ("Training completed in 3 hours", "done"),
        ("`Trainer.fit` stopped: `max_steps=100` reached.", "done"),
        ("exiting program at iteration 1000", "done"),
        ("{'train_runtime': 12.5, 'train_samples_per_second': 3.0, 'epoch': 3.0}", "done"),
        ("Fine-tuning finished successfully.", "done"),
        ("INFO | fairseq_cli.train | done training in 812.1 seconds", "done"),
        ("Total training time: 1 day, 3:21:00 (0.51 s / it)", "done"),
        ("Training time 0:12:10", "done"),
        ("""{"t": 1, "event": "phase", "name": "p2", "classes": 6, "at_step": 75}""", "stage"),
        (
            """:::MLLOG {"event_type": "INTERVAL_END", "key": "run_stop", "metadata": {"status": "success"}}""",
            "done",
        ),
        ("ENDING TIMING RUN AT 2022-10-11 03:33:04 PM", "done"),
        ("[run.py:750] Final ogbg score: 0.28", "done"),
        ("Monitored metric val_loss did not improve in the last 3 records.", "done"),
        ("INFO:tensorflow:Loss for final step: 0.31.", "done"),
        ("Early stopping triggered after 12 epochs", "done"),
        ("训练已完成", "done"),
        ("I0102 03:04:05.678901 123 spec.py:333] Evaluating on the validation split.", "evaluate"),
        (" > EVALUATION ", "evaluate"),
        ("开始训练", "start"),
        ("Uploading checkpoint-500 folder to s3://bucket/run7", "transfer"),
        ("INFO: pushing the model to the hub", "transfer"),
        ("syncing outputs to gs://bucket/run7 ...", "transfer"),
        (
            "[10:02:03][pretrain] - power window: pausing on purpose for 80 s, on at 10:03:23",
            "pause",
        ),
        ("sleeping for 5 minutes until the next shard is there", "pause"),
        ("503 from the hub, waiting 120 s", "pause"),
        ("GPU at 89 C: cooling down for 0.5 h", "pause"),
        ("显卡过热，暂停 90 秒", "pause"),
        ("Saving model checkpoint to out/checkpoint-500", "save"),
        ("writing checkpoint to out/saved_models/step_5.pt", "save"),
        (" > TRAINING (2026-01-02 03:04:05) ", "start"),
        ("[I 2026-01-02 03:04:05,678] A new study created in memory with name: s", "trial"),
        ("[W 2026-01-02 03:04:05,678] Trial 4 failed with value nan.", "trial"),
        ("[I 2026-01-02 03:04:05,678] Trial 5 pruned. ", "trial"),
        ("search: started trial t3 (lr=40.0), pid 4711", "trial"),
        ("==== Stage 2: sequences of 256 tokens, 4000 steps ====", "stage"),
        (
            "--- palier 2 : nouveau mélange {'code': 0.7} comme prévu ; la perte va remonter",
            "stage",
        ),
        ("Étape 3 : images de 256 pixels", "stage"),
        ("poids de la condition initiale porté à 10", "stage"),
        ("[12:04] lambda_pde 1.0 -> 10.0", "stage"),
        ("KL weight increased to 0.5", "stage"),
        ("2026-01-02 03:04:05 [INFO] ======== 第 2 阶段：长度 8，共 90 步 ========", "stage"),
        ("===== 阶段 2：网页+代码，170 步，网页/代码 = 0.5/0.5，损失会先上升 =====", "stage"),
        ("expect it: the loss will jump when the new data comes in", "stage"),
        ("[试验 04] 参数 lr=2.0 width=64 opt=sgd", "trial"),
        ("[试验 04] 已剪枝: 验证损失为 nan", "trial"),
        ("[halving] terminating cfg_03 (pid 15)", "stop"),
        ("Killing worker 4 (heartbeat lost)", "stop"),
        ("rung 40: trial t4 (lr 40.0) stopped, exit code -15", "trial"),
        ("Validation:  22%|##2       | 18/80 [00:00<00:01, 66.02it/s]", "evaluate"),
    ],
)
def test_phases(line: str, name: str) -> None:
    assert [o.name for o in read(line) if isinstance(o, Phase)] == [name]


@pytest.mark.parametrize(
    "line",
    [
        "step 5 loss 2.0",
        "training set: 900 files",
        "step 12 loss 3.1 weight -> 2",
        "weight decay: 0.01",
        "stage 2:  7%|7         | 62/900 [00:31<07:00,  1.99it/s, loss=2.1]",
        "stopping at step 500: run 3 is done",
        "Training completed epoch 3",
        "early stopping patience: 5",
        "waited 12 s for the data",
        "pausing is not possible on 4 GPUs",
        "step 5 loss 2.0 waiting 3",
        "EarlyStopping counter: 1 out of 7",
        "Training done step 5",
        "epoch 3 of training",
        "evaluation every 500 steps",
        "saved checkpoint to out/step_40.pt",
        "checkpoint saved: out/step_40.pt (2.1 s)",
        "Model weights saved in out/checkpoint-500/model.safetensors",
        "model was saved to out/step_5.pt",
        "Saving checkpoint to out/step_40.pt ... done",
        "模型已保存到 out/step_40.pt",
        "upload of the checkpoint finished",
        "your trial has ended: 14 days are over",
        "trial 3 epoch 1",
        "[03:04:05] palier 2 pas   40  perte 2.310",
        "palier 2 pas   40  perte 2.310",
    ],
)
def test_no_phase(line: str) -> None:
    assert [o for o in read(line) if isinstance(o, Phase)] == []


@pytest.mark.parametrize(
    ("line", "step", "path"),
    [
        ("saving checkpoint to out-char/ckpt.pt", None, "out-char/ckpt.pt"),
        (
            "[INFO|trainer.py:2926] >> Saving model checkpoint to out/checkpoint-500",
            500,
            "out/checkpoint-500",
        ),
        (
            "INFO:run:Saving model and optimizer state at iteration 55 to ./logs/G_5000.pth",
            5000,
            "./logs/G_5000.pth",
        ),
        ("  successfully saved checkpoint at iteration    2000 to /ckpt/gpt", 2000, "/ckpt/gpt"),
        ("Saving checkpoint to: /data/run/global_step_186", 186, "/data/run/global_step_186"),
        ("Saved checkpoint at step 400", 400, None),
        (
            "Saving LoRA weights to 'out/final/lit_model.pth.lora'",
            None,
            "out/final/lit_model.pth.lora",
        ),
        (
            "Checkpoint saved to s3://bucket/run/step-00000040/model.pth",
            40,
            "s3://bucket/run/step-00000040/model.pth",
        ),
        ("saving checkpoint at iteration     500 to /ckpt in torch_dist format", 500, "/ckpt"),
        (
            "  successfully saved checkpoint from iteration     500 to /ckpt [ t 1/4, p 1/2 ]",
            500,
            "/ckpt",
        ),
        (
            "[Torch] Saved out/global_step500/mp_rank_00_model_states.pt.",
            500,
            "out/global_step500/mp_rank_00_model_states.pt",
        ),
        ("[Torch] Checkpoint global_step500 is ready now!", 500, None),
        (
            "Saving checkpoint to checkpoints/checkpoint_2_1000.pt",
            1000,
            "checkpoints/checkpoint_2_1000.pt",
        ),
        (
            "Saved checkpoint ck/checkpoint_best.pt (epoch 2 @ 2200 updates, score 6.0) (writing took 3 s)",
            2200,
            "ck/checkpoint_best.pt",
        ),
        (
            "[fvcore.common.checkpoint]: Saving checkpoint to ./o/model_0004999.pth",
            4999,
            "./o/model_0004999.pth",
        ),
        ("mmengine - INFO - Saving checkpoint at 12 epochs", None, None),
        ("mmdet - INFO - Saving checkpoint at 4000 iterations", 4000, None),
        (
            "The best checkpoint with 0.21 coco/bbox_mAP at 1 epoch is saved to best_coco_bbox_mAP_epoch_1.pth.",
            None,
            "best_coco_bbox_mAP_epoch_1.pth",
        ),
        (
            "Epoch 00003: val_loss improved from 0.32 to 0.31, saving model to best.h5",
            None,
            "best.h5",
        ),
        (
            "INFO:tensorflow:Saving checkpoints for 1000 into /out/model.ckpt.",
            1000,
            "/out/model.ckpt",
        ),
        ("Saving the checkpoint (or staging if async is enabled).", None, None),
        ("Saving a full checkpoint at last step, step 1000.", 1000, None),
        ("Finished async_save to /ckpt/1000 (blocking). Time taken: 3.2s.", None, "/ckpt/1000"),
        ("ppdet.utils.checkpoint INFO: Save checkpoint: output/yolov3", None, "output/yolov3"),
        (
            "yolox.core.trainer:322 - Save weights to ./YOLOX_outputs/yolox_s",
            None,
            "./YOLOX_outputs/yolox_s",
        ),
        (" Saving weights to backup//yolo_1000.weights", None, "backup//yolo_1000.weights"),
        (" > CHECKPOINT : out/run/checkpoint_10000.pth", 10000, "out/run/checkpoint_10000.pth"),
        ("saving the latest model (epoch 3, total_iters 5000)", 5000, None),
        ("Saved model to models/ppo_10000_steps.zip", 10000, "models/ppo_10000_steps.zip"),
        (
            "Saving Model Checkpoint 2.0GB to /o/epoch_0/model-00001-of-00002.safetensors",
            None,
            "/o/epoch_0/model-00001-of-00002.safetensors",
        ),
        ("Saving current state to out/checkpoint-500", 500, "out/checkpoint-500"),
        ("=> saving checkpoint 'checkpoint.pth.tar'", None, "checkpoint.pth.tar"),
        ("step 1000: saving model checkpoint", 1000, None),
        ("模型已保存到 output/epoch_3.pth", None, "output/epoch_3.pth"),
        ("保存检查点: ckpt/step_1000.pt", 1000, "ckpt/step_1000.pt"),
        (
            "Epoch 3, global step 4000: 'val_loss' reached 0.4 (best 0.4), saving model to '/o/epoch=3-step=4000.ckpt' as top 1",
            4000,
            "/o/epoch=3-step=4000.ckpt",
        ),
    ],
)
def test_claims(line: str, step: float | None, path: str | None) -> None:
    (claim,) = (o for o in read(line) if isinstance(o, CheckpointSaved))
    assert (claim.step, claim.path) == (step, path)


@pytest.mark.parametrize(
    "line",
    [
        "Saving checkpoint every 500 steps to out/",
        "save_model: true",
        "saved figure to plots/a.png",
        "Saving tokenizer to out/tok.bin",
        "loss saved my day",
        "Checkpoints will be saved to out/",
        "not saving checkpoint to out/a.pt",
        "Loaded checkpoint saved at step 1000",
        "Loading model weights saved in out/a.bin",
        "Saving predictions to out/pred.bin",
        "Configuration saved in out/checkpoint-500/config.json",
        "tokenizer config file saved in out/checkpoint-500/tokenizer_config.json",
        "save_dir: out/model.pt",
    ],
)
def test_no_claim(line: str) -> None:
    assert [o for o in read(line) if isinstance(o, CheckpointSaved)] == []
