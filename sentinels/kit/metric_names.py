"""Lists: the keys that trainers use for their numbers, and our names for them.

Keys are written in the form in which ``metric_keys.fold`` compares them: lower case, with ``_`` and
``-`` as blanks and camel case taken apart.
"""

from __future__ import annotations

import re

_NAMES = {
    "step": "step|steps|upd|global step|global steps|global step num|global step/max steps|step num|iteration|iter|iters|it"
    "|current steps|train step|training step|num updates|update|trainer/global step|current step"
    "|training/global step|learning iteration|training iteration|optim step|optimizer step|i iter"
    "|total timesteps|time/total timesteps|timesteps|timestep|global iter|cur iter|cur step|n iter"
    "|num timesteps|env step|env steps|environment steps|total env steps|total num steps|iters done"
    "|total environment interacts|totalenvinteracts|totalenv interacts|training updates|opt step"
    "|num env steps sampled|total steps taken|completed step|step no|iter num|num iter|nr iter|iter no"
    "|train iter|training iter|train/step|train/global step|progress/step|step count|opt steps|gstep"
    "|steps done|niter|acc iter|train iteration|update step|train/iteration|global iteration|trainer/step"
    "|步|步数|迭代|迭代次数|训练步数|当前步数|全局步数|步骤|当前步|训练步|步长数|stap",
    "epoch": "epoch|ep|current epoch|epoch num|epoch number|cur epoch|train/epoch|trainer/epoch|epoch no"
    "|epoch idx|epoch index|train epoch|training epoch|epoch i|progress/epoch|epoche|época|epoca|époque|эпоха|エポック|에포크"
    "|轮|轮次|轮数|epoch数|周期|训练轮次|训练轮数|当前轮次|回合|世代",
    "total": "total steps|total iters|total iterations|max steps|max iters|max iterations|num steps total"
    "|total optimization steps|total train steps|total training steps|num training steps|总步数",
    "epochs": "num epochs|num train epochs|total epochs|max epochs|num training epochs|总轮数|总轮次",
    "train_loss": "loss|train loss|training loss|train/loss|loss/train|loss train|total loss|loss total"
    "|lm loss|language model loss|ce loss|train/ce loss|train ce loss|trl|avg loss|avr loss|losses"
    "|average loss|mean loss|step loss|loss step|train loss step|reduced train loss|batch loss|cost"
    "|running loss|loss avg|loss mean|loss value|tr loss|trn loss|objective loss|objective|xent"
    "|cross entropy loss|mlm loss|curr loss|current loss|loss train (curr)|smooth loss|train cost"
    "|bce|nll|ce|mse|train bce|train nll|train ce|train mse|train/bce|train/nll|train/ce|train/mse"
    "|negative log likelihood|cross entropy"
    "|训练集损失|训练误差|损失函数值|损失值|損失|訓練損失|pérdida|perda|perte|verlust|потери|потеря|лосс|손실|verlies",
    "eval_loss": "tel|vll|best eval loss now|eval loss|val loss|valid loss|dev loss|cv loss|test loss"
    "|loss val|验证集损失|测试集损失|验证误差|測試損失|驗證損失",
    "lr": "lr|lrate|learning rate|learningrate|base lr|lr 0|lr adam|actor/lr|lr pg 0|lr/pg0|x/lr0|l.r."
    "|l r|learn rate|eta lr|step size lr|学习率|当前学习率|學習率",
    "grad_norm": "grad norm|gradnorm|gradient norm|gnorm|norm|global grad norm|global norm|total norm"
    "|gn|grad|梯度范数|梯度|梯度裁剪前范数|梯度范數",
    "tokens_per_s": "tps|wps|tgs|tokens per gpu|words/sec|words/s|wrd/s|词/秒",
    "samples_per_s": "fps|ips|runningavgsamplespersec|currsamplespersec|sps|running avg samples per sec"
    "|curr samples per sec|imgs per sec|样本/秒",
    "step_time_s": "dt|ms/batch|sec/tick|step avg|iter timer|batch cost|avg batch cost|单步耗时|每步耗时"
    "|timer|time/iter|time/step|train/time|train/iter time|perf/time per step|timing s/step|s/it",
    "mfu": "mfu|perf/mfu/actor|mfu/actor|train/mfu|model flops utilization|throughput/device/mfu|hfu mfu",
    "loss_scale": "loss scale|scale|loss scaler|lossscale|attempted loss scale|grad scale|grad scaler|scaler"
    "|train/loss scale|amp scale|dynamic loss scale|cur scale|current loss scale|损失缩放",
    "gpu_mem_bytes": "gpu mem|gpumem|mem|max mem|memory|gpu memory|peak mem|mem gb|maxmemallocated"
    "|max mem allocated|peak vram mb|max memory|gpu mem gb|memory gb|max mem reserved|peak memory active"
    "|peak memory|cuda mem|vram|mem(gb)|gpu memory used|max memory allocated|max mem gb|cuda memory"
    "|cuda memory allocated|memory/max active|memory/max allocated|gpu mem used|peak gpu memory|system/peak gpu memory"
    "|peak memory allocated|gpu memory allocated|max gpu memory|gpu mem usage|显存|显存占用|显存使用",
    "accuracy": "accuracy|acc|top1|acc@1|top 1|top1 acc|acc top1|accuracy top1|eval mlm accuracy"
    "|best acc now|acc val|val/acc|acc1|eval/acc|val top1|测试准确率|验证准确率|验证集准确率|测试集准确率"
    "|准确率|精度|正确率|準確率",
}  # fmt: skip
KEYS: dict[str, str] = {key: name for name, keys in _NAMES.items() for key in keys.split("|")}


def words(text: str, mark: str | None = None) -> frozenset[str]:
    """The words of a text, separated by blanks or by ``mark``."""
    return frozenset(text.split(mark))


WEAK_KEYS = words(
    "it mem memory norm update ep top1 scaler gn cost objective losses val grad total norm dt ce"
)
"""Such common words that they are accepted as keys only with a separator after them."""
PLURAL_STEPS = words(
    "steps|iters|train steps|training steps|global steps|timesteps|env steps",
    "|",
)
"""On a line without a measure these are a setting, not a counter."""
WEAK_STEPS = words(
    "batch|episode|minibatch|mini batch|batches|n updates|nupdates|tick|round|ep num|"
    "episodes|iterations|batch idx|batch id|批次|frame|frames|updates|rollout|batch no",
    "|",
)
"""They count as the step if nothing better on the line does."""

STEP_RANK = {
    "global step": 3,
    "trainer/global step": 3,
    "step": 3,
    "current steps": 3,
    "global steps": 3,
    "num updates": 3,
    "total timesteps": 3,
    "time/total timesteps": 3,
    "train/global step": 3,
    "optimizer step": 3,
    "optim step": 3,
    "completed step": 3,
}
"""A line may have two counters (``iter 14 … step 89``): the step is the one of higher rank."""
STEP_RANK_ELSE = 2
STEP_RANK_WEAK = 1

WHOLE_LOSSES = words(
    "loss|train loss|training loss|train/loss|total loss|loss total|loss/total|"
    "train/total loss|loss/train|损失|训练损失|总损失",
    "|",
)
"""Of several losses on a line, one of these is the loss that is optimised."""

_LOSS = (
    "损失|損失|손실|로스|pérdida|pérdidas|perda|perdita|perte|verlust|verlustwert|потери|потеря|лосс|ошибка|verlies|strata|kayıp"
    "|förlust|tap|ztráta|loss|損失値|손실값"
)
_EVAL = (
    "검증|테스트|평가|検証|テスト|評価|验证|驗證|测试|測試|val|valid|validation|validación|validação|validazione|validierung"
    "|validierungs|prüf|test|testing|валидации|валидация|валидационная|тест|теста|проверки|вал|validatie|walidacyjna|walidacja|doğrulama"
)
FOREIGN_EVAL_LOSS = re.compile(
    rf"(?:{_EVAL})[ .:/-]?s?(?:{_LOSS})|(?:{_LOSS})[ .:/-](?:de |di |da |der |на |en |auf )?(?:{_EVAL})"
)
"""An evaluation loss in other languages: a word for the evaluation and one for the loss, in either order."""
FOREIGN_LOSS = frozenset(_LOSS.split("|")) - {"loss", "tap", "ошибка"}
"""A loss in other languages."""
BESIDE = frozenset(
    [
        "완료",
        "학습",
        "훈련",
        "完了",
        "完成",
        "学習",
        "訓練",
        "결과",
        "結果",
        "fertig",
        "terminé",
        "terminée",
        "fatto",
        "hecho",
        "listo",
        "тренировка",
        "обучение",
        "средний",
        "средняя",
    ]
)
"""Words that may stand before it."""

TRAIN_WORDS = words(
    "train training tr trn trainer learn fit 训练 訓練 学習 훈련 학습 entrenamiento entraînement entrainement "
    "apprentissage allenamento addestramento treino treinamento обучение обучения eğitim egitim trening träning"
)
EVAL_WORDS = words(
    "eval val valid validation test testing dev evaluation holdout heldout cv validate 验证 "
    "测试 评估 校验"
)
NEUTRAL = words(
    "loss losses total avg avr average mean ave running run current cur curr now step iter "
    "iteration epoch batch ep per token tokens ce lm ntp mlm cross crossentropy xent main "
    "overall info debug root metrics metric logs log result results the and at after on "
    "for of is was worker reduced smooth smoothed interval global window last latest final "
    "set all objective sum softmax nats raw all fn function optim 平均 当前 总 集 值 本轮"
)
"""Neutral words: they do not change which loss a key names."""
LR_WORDS = words(
    "lr w decoupled optim optimizer opt scheduler group groups param params pg adam adamw fused "
    "fusedadam sgd lion muon adafactor base 0 train training trainer current cur actor "
    "policy backbone head epoch step iter mean last first new the"
)
NORM_WORDS = words(
    "grad grads gradient gradients norm total global l2 2.0 2 train training trainer optim "
    "optimizer avg mean step actor unclipped preclip pre before all model overall policy "
    "current iter raw"
)
LESS = words(
    "epoch avg avr average mean running smooth smoothed ce lm mlm xent objective cost entropy per"
)
"""A loss with one of these words is less likely the one that is optimised."""
