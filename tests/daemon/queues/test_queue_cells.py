"""The queue file: what a person writes, and what is said when it is wrong."""

from __future__ import annotations

import shlex

import pytest
from hypothesis import given
from hypothesis import strategies as st

from middlewatch.daemon.queues.cells import Gate, QueueFile, parse
from middlewatch.daemon.queues.shards import Shard, shard
from middlewatch.daemon.system.errors import ConfigError

FILE = "/box/work/sweep.txt"
NAMES = st.from_regex(r"[a-z0-9_中]([a-z0-9_.+=@中-]{0,10})", fullmatch=True).filter(
    lambda name: name not in ("failed", "all")
)
WORDS = st.lists(
    st.text(st.characters(codec="utf-8", exclude_characters="\0\n\r{}"), max_size=8),
    min_size=1,
    max_size=4,
).filter(lambda words: not words[0].startswith("@"))


def cells(text: str) -> QueueFile:
    return parse(text, FILE)


def test_a_file_of_a_person() -> None:
    made = cells(
        """\
# three learning rates
@command python train.py --out {dir} --config
@env WANDB_PROJECT=lr SEED=1
base:    configs/base.yaml
lr-3e-4: configs/base.yaml --lr 3e-4   # the one of the paper
long:    @epochs=3 @gpus=2 @max-time=6h configs/base.yaml --epochs {epochs}

@command
eval:    @after=cell:base @within=2h @env=SEED=2 python eval.py 'a b' out/{name}
@workdir ../other
@after exists:out/a.pt good:/saves/b.pt
last:    ./go.sh
"""
    )
    base, lr, long, evaluation, last = made.cells
    assert base.words == (
        *("python", "train.py", "--out", "/box/work/sweep.cells/base", "--config"),
        "configs/base.yaml",
    )
    assert lr.words[-2:] == ("--lr", "3e-4")
    assert long.words[-2:] == ("--epochs", "3")
    assert (long.settings.gpus, long.settings.max_time_s) == (2, 6 * 3600.0)
    assert evaluation.words == ("python", "eval.py", "a b", "out/eval")
    assert evaluation.settings.env == {"WANDB_PROJECT": "lr", "SEED": "2"}
    assert base.settings.env["SEED"] == "1"
    assert evaluation.settings.after == (Gate("cell", "base"),)
    assert evaluation.settings.within_s == 7200.0
    assert (last.settings.workdir, last.words) == ("/box/other", ("./go.sh",))
    assert last.settings.after == (
        Gate("exists", "/box/work/out/a.pt"),
        Gate("good", "/saves/b.pt"),
    )
    assert [cell.line for cell in made.cells] == [4, 5, 6, 9, 12]
    assert (base.dir, base.settings.workdir) == ("/box/work/sweep.cells/base", "/box/work")


@pytest.mark.parametrize(
    ("text", "line", "said"),
    [
        ("python train.py", 1, "a name, a colon"),
        ("a: x\n\nb: y\na: z", 4, "line 1 already"),
        ("../a: x", 1, "cannot be the name"),
        (".a: x", 1, "cannot be the name"),
        ("failed: x", 1, "--retry"),
        ("a:", 1, "no command"),
        ("a: # nothing", 1, "no command"),
        ("a:x", 1, "a name, a colon"),
        ("a：x", 1, "a name, a colon"),
        ("a: 'x", 1, "quotes"),
        ("a: x $HOME", 1, "no shell"),
        ("a: x > log", 1, "no shell"),
        ("@gpu 1\na: x", 1, "@gpu"),
        ("@gpus many", 1, "no number"),
        ("@gpus", 1, "one value"),
        ("@within soon\n", 1, "time"),
        ("@env PATH", 1, "NAME=VALUE"),
        ("a: @after=out/a.pt x", 1, "cannot read"),
        ("a: @after=cell:b x\nb: y", 1, "below"),
        ("a: @after=cell:c x", 1, "no cell"),
        ("a: @after=cell:a x", 1, "below"),
        ("a: @gpus 2 x", 1, "@KEY=VALUE"),
        ("a: @command=x y", 1, "a line of its own"),
        ("a: x --epochs {epochs}", 1, "epochs"),
        ("@scripts old", 1, "pinned"),
        ("a: x\0", 0, "NUL"),
    ],
)
def test_mistakes_are_told_with_their_line(text: str, line: int, said: str) -> None:
    with pytest.raises(ConfigError) as caught:
        cells(text)
    assert said in f"{caught.value} {caught.value.hint}"
    assert not line or f"line {line}:" in str(caught.value)
    assert caught.value.hint


def test_only_our_places_are_filled() -> None:
    (cell,) = cells("a: train {epoch}-{val_loss} {\"lr\":1} '${x}' {name}.{name}").cells
    assert cell.words == ("train", "{epoch}-{val_loss}", "{lr:1}", "${x}", "a.a")


@given(st.dictionaries(NAMES, WORDS, max_size=6))
def test_what_is_written_is_read(wanted: dict[str, list[str]]) -> None:
    text = "".join(f"{name}: {shlex.join(words)}\n" for name, words in wanted.items())
    assert {cell.name: list(cell.words) for cell in cells(text).cells} == wanted


@given(st.text(max_size=80) | st.text(st.sampled_from("ab: @=\n'\\#{}$gpusenv"), max_size=60))
def test_any_text_is_read_or_told(text: str) -> None:
    try:
        made = cells(text)
    except ConfigError:
        return
    names = [cell.name for cell in made.cells]
    assert len(set(names)) == len(names)
    assert all(cell.words and cell.dir.startswith("/box/work/") for cell in made.cells)


@given(st.dictionaries(NAMES, WORDS, min_size=1, max_size=5), NAMES)
def test_a_line_more_changes_no_other_cell(wanted: dict[str, list[str]], more: str) -> None:
    text = "".join(f"{name}: {shlex.join(words)}\n" for name, words in wanted.items())
    before = {cell.name: cell.digest for cell in cells(text).cells}
    if more in wanted:
        return
    after = {cell.name: cell.digest for cell in cells(f"{text}{more}: true\n").cells}
    assert after.pop(more)
    assert after == before


@given(st.lists(st.text(max_size=12), unique=True), st.integers(1, 7))
def test_shards_cover_exactly(names: list[str], count: int) -> None:
    parts = [[n for n in names if Shard(i, count).has(n)] for i in range(1, count + 1)]
    assert sorted(name for part in parts for name in part) == sorted(names)


def test_shards_are_about_equally_large() -> None:
    sizes = [sum(Shard(i, 4).has(f"cell-{n}") for n in range(1000)) for i in range(1, 5)]
    assert sum(sizes) == 1000
    # Four standard deviations of a binomial of 1000 and a quarter: 250 +- 55.
    assert all(195 <= size <= 305 for size in sizes)


@pytest.mark.parametrize("text", ["0/2", "3/2", "1", "a/b", "1/0", "", "-1/2"])
def test_what_is_no_shard_is_told(text: str) -> None:
    with pytest.raises(ValueError, match="shard"):
        shard(text)
    assert str(shard("2/3")) == "2/3"
