from __future__ import annotations

import contextlib
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from middlewatch.daemon.config.load import load, parse, rows
from middlewatch.daemon.config.schema import Config
from middlewatch.daemon.system.errors import ConfigError
from middlewatch.sentinels.kit import discover

SECRET = "json://bob:hunter22@example.org/topsecret"


@pytest.fixture(autouse=True)
def no_urls_from_outside(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("MIDDLEWATCH_ALERT_URLS", raising=False)


def complaint(text: str) -> str:
    with pytest.raises(ConfigError) as caught:
        parse(text, "box.toml")
    assert caught.value.exit_code == 2
    return str(caught.value)


# ------------------------------------------------------------------------ what is fine


def test_no_file_at_all_is_a_configuration(tmp_path: Path) -> None:
    for config in (load(None), load(tmp_path / "none.toml")):
        assert config.path == ""
        assert config.alerts.mode == "ladder"
        assert config.alert_urls == ()
        assert set(config.limits) == set(discover())
        assert not config.origins


def test_values_and_where_they_came_from(tmp_path: Path) -> None:
    file = tmp_path / "config.toml"
    file.write_text(
        "# mine\n[alerts] # who\nmode = 'all'\nrepeat_s = ['30m', 60]\n\n"
        "[sentinels.hang]\nfloor_s = '1.5m'\n[sentinels.blind]\nenabled = false\n"
        "[watch]\nstore_max_bytes = '20GiB'\n",
        encoding="utf-8",
    )
    config = load(file)
    assert config.path == str(file)
    assert config.alerts.repeat_s == (1800.0, 60.0)
    assert config.limits["hang"].floor_s == 90.0
    assert config.watch.store_max_bytes == 20 << 30
    assert config.disabled == {"blind"}
    assert config.origins == {
        "alerts.mode": f"{file}:3",
        "alerts.repeat_s": f"{file}:4",
        "sentinels.hang.floor_s": f"{file}:7",
        "sentinels.blind.enabled": f"{file}:9",
        "watch.store_max_bytes": f"{file}:11",
    }


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("alerts.mode = 'all'", 1),
        ("\nalerts = { mode = 'all' }", 2),
        ("[ alerts ]\n'mode' = 'all'", 2),
        ('["alerts"]\n"mode"="all"', 2),
    ],
)
def test_the_line_is_found_however_it_is_written(text: str, line: int) -> None:
    assert parse(text, "f").origins["alerts.mode"] == f"f:{line}"


def test_a_byte_order_mark_is_no_trouble(tmp_path: Path) -> None:
    file = tmp_path / "windows.toml"
    file.write_bytes(b"\xef\xbb\xbf[alerts]\r\nmode = 'all'\r\n")
    assert load(file).alerts.mode == "all"


@pytest.mark.parametrize(
    ("written", "seconds"),
    [("500ms", 0.5), ("45s", 45.0), ("10m", 600.0), ("2h", 7200.0), ("1d", 86400.0), (" 7 s ", 7)],
)
def test_durations(written: str, seconds: float) -> None:
    config = parse(f"[sentinels.hang]\nfloor_s = '{written}'", "f")
    assert config.limits["hang"].floor_s == seconds


@pytest.mark.parametrize(
    ("written", "size"),
    [("512", 512), ("512B", 512), ("1KB", 1000), ("1KiB", 1024), ("1.5 MiB", 1572864), ("2G", 2e9)],
)
def test_sizes(written: str, size: int) -> None:
    config = parse(f"[watch]\nstore_max_bytes = '{written}'", "f")
    assert config.watch.store_max_bytes == size
    assert type(config.watch.store_max_bytes) is int


# ------------------------------------------------------------------------ what is not


def test_an_unknown_key_is_named_with_its_line_and_the_nearest_known_one() -> None:
    assert complaint("[alerts]\n\nmin_severty = 'info'") == (
        "box.toml:3: unknown key 'alerts.min_severty'; did you mean 'min_severity'?"
    )


def test_an_unknown_section_and_an_unknown_sentinel() -> None:
    assert complaint("x = 1\n").startswith("box.toml:1: unknown section 'x'; known: alerts")
    assert complaint("\n[alert]\nurls = []") == (
        "box.toml:2: unknown section 'alert'; did you mean 'alerts'?"
    )
    assert complaint("[sentinels.hangs]") == (
        "box.toml:1: unknown sentinel 'sentinels.hangs'; did you mean 'hang'?"
    )


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("[alerts]\nresolved = 1", "f:2: alerts.resolved must be true or false, not 1"),
        ("[watch]\nstore_max_bytes = true", "must be a whole number, not True"),
        ("[watch]\nstore_max_bytes = 1.5", "must be a whole number, not 1.5"),
        ("[sentinels.hang]\nfloor_s = false", "sentinels.hang.floor_s must be a number, not False"),
        ("[sentinels.hang]\nfloor_s = '10 minutes'", 'write it like "10m"'),
        ("[sentinels.hang]\nfloor_s = nan", "zero or more"),
        ("[sentinels.hang]\nfloor_s = -1", "zero or more"),
        ("[sentinels.hang]\nfloor_s = inf", "zero or more"),
        (f"[sentinels.hang]\nfloor_s = 1{'0' * 400}", "zero or more"),
        (f"[watch]\nstore_max_bytes = '{'9' * 400}TiB'", "zero or more"),
        ("[watch]\nstore_max_bytes = '20 gigs'", 'write it like "20GiB"'),
        ("[sentinels.hang]\nidle_cores = '2'", "a number"),
        ("[alerts]\nurls = 'ntfy://x'", "alerts.urls must be a list"),
        ("[alerts]\nhost = 7", "must be a text, not 7"),
        ("[alerts]\nmode = 'one'", "f:2: alerts.mode is none of ladder, all"),
        ("[alerts]\nmin_severity = 'loud'", "is none of info, warning, critical"),
        ("alerts = 3", "f:1: alerts must be a table, like [alerts]"),
        ("[sentinels]\nhang = 3", "f:2: sentinels.hang must be a table, like [sentinels.hang]"),
        ("[sentinels.hang]\nenabled = 'no'", "is not true or false"),
        ("[alerts\nmode = 3", "not valid TOML"),
        ("a = 1\na = 2", "not valid TOML"),
        ("[[alerts]]", "must be a table"),
    ],
)
def test_wrong_values(text: str, words: str) -> None:
    with pytest.raises(ConfigError) as caught:
        parse(text, "f")
    assert words in str(caught.value)


def test_a_file_that_cannot_be_read(tmp_path: Path) -> None:
    latin = tmp_path / "latin.toml"
    latin.write_bytes(b"[alerts]\nhost = 'caf\xe9'\n")
    for path in (latin, tmp_path, latin / "below"):
        with pytest.raises(ConfigError, match="cannot be read"):
            load(path)


@given(st.text(max_size=200))
def test_any_text_is_a_configuration_or_a_config_error(text: str) -> None:
    with contextlib.suppress(ConfigError):
        assert isinstance(parse(text, "f"), Config)


# ------------------------------------------------------------------------ secrets


def test_urls_come_from_all_three_places_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "urls").write_text("# mine\n\nntfy://b\n  tgram://c \n", encoding="utf-8")
    file = tmp_path / "config.toml"
    file.write_text("[alerts]\nurls = ['ntfy://a', 'ntfy://b']\nurls_file = 'urls'\n", "utf-8")
    monkeypatch.setenv("MIDDLEWATCH_ALERT_URLS", "ntfy://a, mailto://x@y?to=a@b,c@d ,json://e,")
    # A relative name is looked up beside the configuration: the daemon lives in another folder.
    monkeypatch.chdir("/")
    assert load(file).alert_urls == (
        "ntfy://a",
        "ntfy://b",
        "tgram://c",
        "mailto://x@y?to=a@b,c@d",
        "json://e",
    )


def test_a_missing_urls_file_is_an_error() -> None:
    with pytest.raises(ConfigError, match="urls_file"):
        parse("[alerts]\nurls_file = '/nowhere/urls'", "f").alert_urls  # noqa: B018


def test_shown_values_never_hold_a_url(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MIDDLEWATCH_ALERT_URLS", SECRET)
    config = parse(f"[alerts]\nurls = ['{SECRET}2', '{SECRET}3']\nhost = 'b'", "f")
    shown = list(rows(config))
    assert ("alerts.urls", "2 set", "f:2") in shown
    assert ("alerts.urls (all)", "3 set", "$MIDDLEWATCH_ALERT_URLS") in shown
    assert ("alerts.host", "b", "f:3") in shown
    assert ("alerts.mode", "ladder", "default") in shown
    assert "hunter22" not in repr(shown)
    assert "topsecret" not in repr(shown)


@pytest.mark.parametrize(
    "text",
    [
        f"[alerts]\nurls = '{SECRET}'",
        f"[alerts]\nurls = [['{SECRET}']]",
        f"[alerts]\nurls = [{{ url = '{SECRET}' }}]",
        f"[alerts]\nurl = ['{SECRET}']",
        f"[alerts]\nurls = ['{SECRET}'",
        f"[alerts]\nurls = {SECRET}",
        f"[alerts.urls]\nphone = '{SECRET}'",
    ],
)
def test_no_complaint_quotes_a_url(text: str) -> None:
    told = complaint(text)
    assert "hunter22" not in told
    assert "topsecret" not in told


# -- when the box is taken away ----------------------------------------------------------------


@pytest.mark.parametrize(
    ("told", "ends"),
    [
        ("", {}),
        ('ends_at = "2026-11-22T06:00Z"', {"[watch] ends_at": 1795327200.0}),
        ('ends_at = "2026-11-22T06:00+01:00"', {"[watch] ends_at": 1795323600.0}),
        ('walltime_s = "24h"', {"[watch] walltime_s": 1000.0 + 86400}),
    ],
)
def test_ends_that_are_told(told: str, ends: dict[str, float]) -> None:
    assert parse(f"[watch]\n{told}\n", "c.toml").watch.ends(1000.0) == ends


@pytest.mark.parametrize("told", ["tomorrow", "06:00", "2026-13-01", "24h"])
def test_an_end_that_cannot_be_read(told: str) -> None:
    with pytest.raises(ConfigError, match=r"c\.toml:2: watch\.ends_at cannot read '"):
        parse(f'[watch]\nends_at = "{told}"\n', "c.toml")
