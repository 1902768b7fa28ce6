"""The report of a run: what it says, that it asks for nothing, and that what others wrote stays text."""

from __future__ import annotations

import math
import re
from html.parser import HTMLParser
from typing import Any

import pytest

from middlewatch.daemon.report import curve_svg, documents, picture, run_report

from ...fakes.injections import Injection, injections, obeyed, parsed, tags
from ...tui.overview_answer import checkpoints, incident, overview, run

VOID = {"meta", "path", "rect"}
HARMLESS = {
    *("declaration", "html lang", "head", "meta charset", "meta http-equiv content", "meta name content"),
    *("title", "style", "body", "h1", "h2", "p", "p class", "div class", "table", "thead", "tbody"),
    *("tr", "th", "td", "td class", "pre", "svg viewbox role aria-label", "path class d"),
    *("text class x y", "text x y", "rect class x y width height"),
}  # fmt: skip
EACH = pytest.mark.parametrize("one", injections(), ids=lambda one: one.name)


def status(**changes: Any) -> dict[str, Any]:
    found = overview(run(home="tmux", attempt=1, **changes))
    points = found["runs"][0]["curve"]["points"]
    points[-3:] = [[step, "nan"] for step, _ in points[-3:]]
    return {**found["runs"][0], "box": found["box"], "updated_at": found["updated_at"]}


def told() -> list[dict[str, Any]]:
    over = incident("old1", "warning", state="resolved", resolved_at="2026-03-01T02:11:00.000+01:00",
                    summary="no step for 12 min", evidence=[])  # fmt: skip
    return [incident(details={"step": 4140}), over]


def document(**changes: Any) -> documents.Document:
    return run_report.document(status(**changes), told(), checkpoints(), "1.2.3")


class Balanced(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag not in VOID or (
            tag == "path" and not (self.get_starttag_text() or "").endswith("/>")
        ):
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        pass

    def handle_endtag(self, tag: str) -> None:
        if tag == "rect":
            return
        assert self.open.pop() == tag


def test_the_page_says_what_happened() -> None:
    page = documents.as_html(document())
    for word in (
        *(
            "Run gpt-ab12",
            "running: a step every 0.8 s",
            "4,200 of 5,000 (84%)",
            "no step for 12 min",
        ),
        *("loss is nan since step 4200", "critical", "resolved", "2026-03-01 02:10:00+01:00"),
        *("/data/gpt/out/ckpt_4000.pt", "corrupt", "NVIDIA H100 80GB HBM3", "python train.py"),
        *("xxh3:", "step 4200/5000", "middlewatch 1.2.3"),
    ):
        assert word in page


def test_the_page_is_one_file_that_asks_for_nothing() -> None:
    page = documents.as_html(document())
    assert tags(page) <= HARMLESS
    assert not re.search(r"https?:|url\(|@import|src=|href=|<script|javascript:", page)
    assert "default-src 'none'" in page
    reader = Balanced()
    reader.feed(page)
    assert reader.open == []


def test_the_curve_has_its_incident_and_what_is_not_finite() -> None:
    page = documents.as_html(document())
    assert page.count('class="broken"') == 3
    assert '<path class="mark critical"' in page
    assert "step 4140: loss is nan" in page
    drawn = re.search(r'class="curve" d="([^"]*)"', page)
    assert drawn is not None
    numbers = [float(n) for n in re.findall(r"[\d.]+", drawn[1])]
    assert max(numbers[::2]) <= curve_svg.WIDTH
    assert max(numbers[1::2]) <= curve_svg.HEIGHT


@pytest.mark.parametrize(
    "points",
    [[], [(1.0, 2.0)], [(n, math.nan) for n in range(9)], [(math.nan, 1.0), (math.inf, 2.0)]],
)
def test_without_two_losses_there_is_no_curve(points: list[tuple[float, float]]) -> None:
    assert curve_svg.draw(points, []) == ""


def test_extreme_losses_are_drawn() -> None:
    for values in ((1e308, -1e308, 0.0), (1e-308, 1e308, 5.0), (2.0, 2.0, 2.0)):
        drawn = curve_svg.draw([(float(n), v) for n, v in enumerate(values)], [])
        assert "nan" not in drawn
        assert "inf" not in drawn


def test_a_run_of_which_nothing_is_known_yet() -> None:
    bare = status(command=[], logs=[], log_tail=[], started_at=None)
    bare.update(curve={"metric": None, "points": []}, box={}, cost=None, exit=None)
    bare["now"] = {"step": None, "total": None, "values": {}, "eta": None}
    bare["checkpoints"] = {}
    made = run_report.document(bare, [], {"checkpoints": []}, "1.2.3")
    for text in (documents.as_html(made), documents.as_markdown(made)):
        assert "No curve of a loss is known." in text
        assert "None was seen." in text


def test_how_it_ended() -> None:
    over = status(
        state="failed", ended_at="2026-03-01T02:12:00.000+01:00", exit={"code": None, "signal": 9}
    )
    page = documents.as_html(run_report.document(over, [], checkpoints(), "1"))
    assert "signal 9" in page
    assert "3 h" in page
    assert "expected end" not in page


def test_markdown_has_the_same() -> None:
    text = documents.as_markdown(document())
    assert text.startswith("# Run gpt-ab12\n")
    assert "| critical | nan_loss | open |" in text
    assert "train_loss from 10.9 to" in text
    kinds = {token.type for token in parsed(text)[1]}
    assert {"table_open", "heading_open", "code_block"} <= kinds


def test_the_picture_marks_the_worst_incident() -> None:
    assert run_report.moment_of(told()) == 4140.0
    facts = {
        "curve": {"metric": "loss", "points": run_report.points_of(status())},
        "moment_step": 4140.0,
    }
    drawn = picture.of_facts(facts)
    assert drawn is not None
    assert drawn.startswith(b"\x89PNG")


# ------------------------------------------------------------------------ what others wrote


def poisoned(text: str) -> documents.Document:
    """A report in which every text of others is this one."""
    found = status(command=[text], cwd=text, log_tail=[text, text], state_reason=text, notes=[text])
    found["now"]["values"] = {text: 1.0}
    found["box"]["gpus"][0]["name"] = found["box"]["disks"][0]["mount"] = text
    sick = incident(
        summary=text, evidence=[{"kind": "log", "text": text, "at": None}], details={"step": 4140}
    )
    sick["remedy"]["first_step"] = text
    index = checkpoints()
    index["checkpoints"][0]["path"] = index["resume_from"] = text
    return run_report.document(found, [sick], index, "1")


@EACH
def test_it_stays_text_in_the_page(one: Injection) -> None:
    page = documents.as_html(poisoned(one.text))
    assert tags(page) <= HARMLESS
    assert obeyed(page) == []
    reader = Balanced()
    reader.feed(page)
    assert reader.open == []


@EACH
def test_it_stays_text_in_markdown(one: Injection) -> None:
    text = documents.as_markdown(poisoned(one.text))
    assert obeyed(text) == []
    for tokens in parsed(text):
        kinds = {token.type for token in tokens}
        assert not kinds & {
            "html_block",
            "html_inline",
            "image",
            "link_open",
            "fence",
            "blockquote_open",
        }


def test_secrets_do_not_get_into_it() -> None:
    secret = "token=ghp_abcdefghijklmnopqrstuvwxyz0123456789"
    for text in (documents.as_html(poisoned(secret)), documents.as_markdown(poisoned(secret))):
        assert "ghp_abc" not in text
