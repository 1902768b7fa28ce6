"""A log that ends with an error has failed, whatever the error is called and whatever was claimed before."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from middlewatch.daemon.parsers.last_error import says_error
from middlewatch.daemon.parsers.last_words import last_words
from middlewatch.daemon.replay.one_log import Replay, ReplayRules
from middlewatch.sentinels.kit import discover

RULES = ReplayRules(discover(), {}, pytest.fail)
CLAIMS = ("", "Training complete.\n", "`Trainer.fit` stopped: `max_steps=200` reached.\n", "done\n")
ERRORS = (
    "Killed",
    "Aborted",
    "AssertionError",
    "MemoryError",
    "Abort trap: 6",
    "ValueError: expected 3 channels, got 1",
    "paddle.base.core.EnforceNotMet: (InvalidArgument) The shapes differ",
    "train.py: error: argument --lr: invalid float value: 'x'",
    "Error: Cannot find module 'tfjs'",
    "2026-11-26 03:12:44,120 | ERROR | trainer | unhandled, leaving",
    "[03:12:44] CRITICAL - checksum of the data set differs",
    "Training failed: could not read shard 17",
    "make: *** [Makefile:12: train] Error 1",
    "make: *** [Makefile:12: train] Fehler 1",
    "Command exited with non-zero status 1",
    "srun: error: node17: task 3: Exited with exit code 1",
    "26/11/2026 01:54:13 - tâche taches/02.json : code de retour -9, arrêt de la file",
    "Auftrag 3: Rückgabewert 1, Abbruch",
    "任务 2 退出, 返回码 137",
    "Process finished with exit code -1073741819 (0xC0000005)",
    "forrtl: severe (24): end-of-file during read, unit 10",
    "thread 'main' panicked at src/main.rs:4:5: index out of bounds",
    "terminate called after throwing an instance of 'std::bad_alloc'",
    "OSError: [WinError 1455] The paging file is too small for this operation to complete.",
    "错误: 无法打开文件 data.csv",
    "Fehler: Datei nicht gefunden: train.csv",
    "Erreur fatale : mémoire insuffisante",
    "エラー: ファイルが見つかりません",
    "Ошибка: не удалось открыть файл",
    "train: dial tcp 10.0.0.1:443: connect: connection refused",
    "cat: data/val.txt: Aucun fichier ou dossier de ce type",
    "seq: помилка запису: Недостатньо місця на пристрої",
    "t.sh: linia 3: a[9]: nieustawiona zmienna",
    "make: *** [Makefile:5: save] Помилка 3",
    "raised CONSTRAINT_ERROR : train.adb:7 index check failed",
    "** (ArgumentError) ragged batch",
    'Can\'t call method "weights" on an undefined value at train.pl line 3.',
    "train: train.c:10: ragged batch",
    "xargs: ./shard.sh: exited with status 255; aborting",
    "Trainingslauf fehlgeschlagen: Datei train.csv fehlt",
    "학습 실패: 파일을 찾을 수 없습니다",
    "[2026-11-26 10:11:12,120] {taskinstance.py:1904} ERROR - Task failed with exception",
    "upload: server answered 507 Insufficient Storage",
)
NO_ERRORS = (
    "test error: 0.1234",
    "error rate 0.02",
    "0 errors, 0 skipped",
    "no errors found",
    "UserWarning: the loader is slow",
    "WARNING: failed to import flash_attn, using the slow path",
    "validation error = 0.31, train error = 0.29",
    "{'eval_loss': 1.2, 'eval_error': 0.3}",
    "epoch 3/3 loss 0.31 err 0.12",
    "exit code 0",
    "code 0, tout est bon",
    "status 200 OK",
    "wrote failures.csv (0 rows)",
    "terminé sans erreur",
    "12 passed, 0 failed",
    "失败: 0",
    "2026-11-26 10:11:12 W core/common.cc:123] Local rendezvous is aborting with status: OUT_OF_RANGE: End of sequence",
    "Use of uninitialized value $x in addition (+) at t.pl line 5.",
    "utils.py:349: FutureWarning: `torch.cuda.amp.autocast(args...)` is deprecated.",
    "stream ended, rejected 3",
    "grad norm: 0.9 | number of nan iterations: 0 | out of memory: 0 | loss: 1.0",
)


def loop(steps: int, first: int = 0) -> str:
    return "".join(
        f"epoch {n // 20} step {n} loss {3 - n / 1000:.4f} lr 3e-4\n"
        for n in range(first, first + steps)
    )


def replayed(text: str) -> tuple[list[dict[str, Any]], dict[str, Any]]:
    *said, end = Replay("a.log", RULES).read([text.encode()], metrics=False)
    return [one for one in said if one["severity"] != "info"], end


names = st.from_regex(r"\A([a-z_]{1,8}\.){0,2}[A-Z][a-z]{2,9}[A-Z]?[a-z]{0,9}(Error|Exception)\Z")
words = st.text(st.sampled_from("abcdefgh ijklmnop'()[]_/"), min_size=1, max_size=60).filter(
    lambda said: said.strip(" '_") not in ("", "none", "nan", "ok")
)
errors = st.one_of(
    st.sampled_from(ERRORS),
    names,
    st.builds("{}: {}".format, names, words),
    st.builds("{}: {}".format, st.sampled_from(["ERROR", "fatal", "Fatal error", "panic"]), words),
)


@given(errors, st.sampled_from(CLAIMS), st.integers(5, 250))
@example("train: dial tcp 10.0.0.1:443: connect: connection refused", "Training complete.\n", 5)
def test_one_bare_line_at_the_end_is_the_failure(error: str, claim: str, steps: int) -> None:
    said, end = replayed(f"{loop(steps)}{claim}{error}\n")
    assert end["verdict"] == "failed"
    assert end["cause"] in {one["class"] for one in said if one["fatal"]}
    assert error[:300].strip() in {one["evidence"][:300].strip() for one in said if one["fatal"]}


@given(errors, st.integers(5, 250))
def test_the_same_line_before_fifty_reports_is_none(error: str, steps: int) -> None:
    _, end = replayed(f"{loop(steps)}{error}\n{loop(50, steps)}")
    assert end["verdict"] != "failed"


@pytest.mark.parametrize("line", NO_ERRORS)
def test_words_and_numbers_about_errors_are_none(line: str) -> None:
    assert not says_error(line)
    assert replayed(f"{loop(50)}{line}\n")[1]["verdict"] != "failed"


def test_what_a_finaliser_raises_is_none() -> None:
    leaving = (
        "Exception ignored in: <function Pool.__del__ at 0x7f>\n"
        "Traceback (most recent call last):\n"
        '  File "pool.py", line 1, in __del__\n'
        "TypeError: 'NoneType' object is not callable\n"
    )
    assert replayed(f"{loop(50)}Training complete.\n{leaving}")[1]["verdict"] == "finished"


def test_a_good_word_after_it_shows_that_it_was_overcome() -> None:
    text = f"{loop(50)}tracker: ERROR upload failed\nall done\n"
    assert replayed(text)[1]["verdict"] == "finished"


def test_hints_after_the_error_are_not_its_proof() -> None:
    text = f"{loop(50)}ERROR: shard 17 is damaged\n  fetch it again with tools/get.sh\nmake: *** [x] Error 1\n"
    (one,) = (one for one in replayed(text)[0] if one["fatal"])
    assert (one["class"], one["evidence"]) == ("python_exception", "ERROR: shard 17 is damaged")


@given(st.text(max_size=300))
def test_any_text_is_judged(text: str) -> None:
    last_words([(1, text), (2, "x")])


@pytest.mark.parametrize("line", ["tâche 2 : code de retour -9, arrêt", "任务 2 返回码 137"])
def test_an_exit_status_names_its_signal(line: str) -> None:
    assert replayed(f"{loop(50)}{line}\n")[1]["cause"] == "process_killed"


def test_an_error_that_ends_with_a_colon_goes_on_in_the_next_line() -> None:
    text = f"{loop(50)}Fehler in nnet.default(x, y) :\n  NA/NaN/Inf in externem Funktionsaufruf\n"
    (one,) = (one for one in replayed(text)[0] if one["fatal"])
    assert one["evidence"].endswith(": NA/NaN/Inf in externem Funktionsaufruf")
    panic = (
        f"{loop(50)}thread 'main' panicked at pca.rs:3:93:\ncalled `unwrap()` on an `Err` value\n"
    )
    (one,) = (one for one in replayed(panic)[0] if one["fatal"])
    assert one["evidence"].endswith(": called `unwrap()` on an `Err` value")


STACKS = (
    "\tat fit (/w/train.js:3:7)\n    at process.processTicksAndRejections (node:internal/queues:95:5)\n\nNode.js v20.20.2\n",
    "\tat Trainer.save(Trainer.java:4)\n\tat Trainer.main(Trainer.java:8)\n\t... 2 more\n",
    "\ngoroutine 1 [running]:\nmain.save(...)\n\t/w/t.go:6\nmain.main()\n\t/w/t.go:10 +0x172\nexit status 2\n",
    "  at Trainer.Main () [0x0006b] in <74da17af234f>:0 \n",
    "Backtrace:\n#0  0x7f1e620218c2 in ???\n#1  0x55b83de7b526 in t\n\tat /w/t.f90:12\n",
    "    t.exs:4: S.save/1\n    (elixir 1.14.0) lib/code.ex:1245: Code.require_file/2\n",
    "stack traceback:\n\t[C]: in function 'error'\n\tt.lua:3: in local 'save'\n\t[C]: in ?\n",
    '    while executing\n"error "x""\n    (procedure "save" line 2)\n    invoked from within\n"save"\n    (file "t.tcl" line 6)\n',
    "\tfrom t.rb:3:in `save'\n\tfrom t.rb:7:in `<main>'\n",
)


@pytest.mark.parametrize("stack", STACKS)
def test_what_a_stack_of_any_language_is_about(stack: str) -> None:
    """Nothing but the stack says that "the ninth layer is ragged" is an error."""
    said, end = replayed(f"{loop(50)}the ninth layer is ragged\n{stack}")
    (one,) = (one for one in said if one["fatal"])
    assert (end["verdict"], one["evidence"]) == ("failed", "the ninth layer is ragged")
    assert replayed(f"{loop(50)}the ninth layer is ragged\n")[1]["verdict"] != "failed"
    assert replayed(f"{loop(50)}the ninth layer is ragged\n{stack}{loop(50, 50)}")[1][
        "verdict"
    ] != ("failed")


def test_the_deepest_cause_is_the_class() -> None:
    chain = "Error: epoch failed\n\tat T.main(T.java:8)\nCaused by: x.Broken: layer\n\t... 2 more\n"
    said, end = replayed(f"{loop(50)}{chain}Caused by: java.io.IOException: Disk quota exceeded\n")
    assert end["cause"] == "quota_exceeded"
    said, end = replayed(f"{loop(50)}{chain}")
    (one,) = (one for one in said if one["fatal"])
    assert one["evidence"] == "Error: epoch failed (because: x.Broken: layer)"


def test_what_came_before_a_line_that_only_passes_on() -> None:
    said, _ = replayed(f"{loop(50)}ragged shard\nmake: *** [Makefile:5: save] Error 1\n")
    (one,) = (one for one in said if one["fatal"])
    assert one["evidence"] == "make: *** [Makefile:5: save] Error 1 (before it: ragged shard)"


def test_the_places_in_a_stack_are_no_reports() -> None:
    error = f"{loop(50)}lua: ragged batch\nstack traceback:\n\tt.lua:5: in main chunk\n"
    assert replayed(error)[1]["last_step"] == 49


def test_a_rank_that_was_killed_explains_the_errors_of_the_others() -> None:
    text = f"""{loop(50)}[rank0]: Traceback (most recent call last):
[rank0]:   File "train.py", line 9, in <module>
[rank0]:     dist.barrier()
[rank0]: RuntimeError: [gloo/transport/tcp/pair.cc:553] Connection closed by peer [127.0.0.1]:1923
E1126 01:56:04 20344 torch/distributed/elastic/multiprocessing/api.py:1002] failed (exitcode: -9) local_rank: 1 (pid: 20348) of binary: python
"""
    assert replayed(text)[1]["cause"] == "process_killed"


@pytest.mark.parametrize(
    "well",
    [
        "### done, exit 0",
        "exit=0",
        "rc: 0",
        "modele-appris: ok",
        "-rw-r--r-- 1 me me 13381 Nov 26 12:48 m.bin",
    ],
)
def test_the_status_of_a_script_shows_that_what_failed_before_was_not_needed(well: str) -> None:
    lock = "cat: t.lock: No such file or directory"
    assert replayed(f"{loop(40)}{lock}\n")[1]["verdict"] == "failed"
    assert replayed(f"{loop(40)}{lock}\n{well}\n")[1]["verdict"] == "finished"


def test_a_status_of_a_pipe_proves_nothing_of_an_exception() -> None:
    """``python train.py | tee log; echo "exit $?"``"""
    raised = (
        "Traceback (most recent call last):\n  File \"t.py\", line 3, in <module>\nKeyError: 'x'\n"
    )
    assert replayed(f"{loop(40)}{raised}exit 0\n")[1]["verdict"] == "failed"


def test_a_program_without_a_loop_says_last_why_it_stopped() -> None:
    start = "reading train-b.svm\nno cache found, not needed\nseed is fixed\nkernel rbf\nfolds five\n[grid] set=b C=1\n"
    assert replayed(f"{start}Wrong input format at line 641\n")[1]["verdict"] == "failed"
    assert replayed(f"{start}model was written\n")[1]["verdict"] != "failed"


def test_the_last_of_many_attempts_that_failed() -> None:
    attempts = "".join(
        f"2026-11-26 10:{n:02}:01,062 - INFO - creating the model\n"
        f"2026-11-26 10:{n:02}:02,270 - ERROR - Error en entrenamiento: Command '['ollama', 'create']' returned"
        " non-zero exit status 1.\n"
        for n in range(6)
    )
    said, end = replayed(attempts)
    assert end["verdict"] == "failed"
    assert "ollama" in said[-1]["evidence"]
    assert (
        replayed(attempts + "2026-11-26 10:07:00,000 - INFO - creating the model\n")[1]["verdict"]
        == "cut"
    )


def test_of_errors_that_stand_together_the_one_with_a_name() -> None:
    text = (
        "Error executing job with overrides: ['+seed=0', 'model=Cnn10']\n"
        "Error in call to target 'datasets.SpeechCommands':\n"
        "ValueError(\"Directory 'log_mel_16k' does not exist.\")\n\n"
        "Set the environment variable HYDRA_FULL_ERROR=1 for a complete stack trace.\n"
    )
    said, end = replayed(loop(9) + text)
    assert end["verdict"] == "failed"
    assert said[-1]["evidence"].startswith("ValueError")


def test_the_last_save_of_an_older_lightning() -> None:
    assert replayed(loop(60) + "Saving latest checkpoint...\n")[1]["verdict"] == "finished"
