"""One value of a configuration file is changed, and nothing else in it."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from middlewatch.daemon.config.edit import edited, set_value
from middlewatch.daemon.config.load import load, toml
from middlewatch.daemon.system.errors import ConfigError, UsageError

SECTION = '[mirror]\nto = "/new"\n'


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("", SECTION),
        ("# only a remark", f"# only a remark\n\n{SECTION}"),
        ('[alerts]\nhost = "b"\n', f'[alerts]\nhost = "b"\n\n{SECTION}'),
        ("[mirror]\n", SECTION),
        ("[mirror]", SECTION),
        (
            "[ mirror ] # NAS\r\nbest_only = true\r\n",
            '[ mirror ] # NAS\r\nto = "/new"\nbest_only = true\r\n',
        ),
        ('[mirror]\nto = "/old" # mine\n', '[mirror]\nto = "/new" # mine\n'),
        ("[mirror]\n  to='/old'", '[mirror]\n  to="/new"\n'),
        (
            '[mirror]\nruns = ["to"]\nto = ""\n[watch]\n',
            '[mirror]\nruns = ["to"]\nto = "/new"\n[watch]\n',
        ),
        (
            '[watch]\n# to = "/x"\n[mirror]\n# to = "/x"\n',
            '[watch]\n# to = "/x"\n[mirror]\nto = "/new"\n# to = "/x"\n',
        ),
    ],
)
def test_what_a_person_wrote_stays(before: str, after: str, tmp_path: Path) -> None:
    path = tmp_path / "config.toml"
    path.write_bytes(before.encode())
    path.chmod(0o640)
    assert set_value(path, "mirror", "to", "/new")
    assert path.read_bytes().decode() == after
    assert load(path).mirror.to == "/new"
    assert path.stat().st_mode & 0o777 == 0o640
    assert not set_value(path, "mirror", "to", "/new"), "it says so already"
    assert [one.name for one in tmp_path.iterdir()] == ["config.toml"]


@pytest.mark.parametrize(
    "text",
    [
        'mirror = {to = "/old"}\n',
        'mirror.to = "/old"\n',
        '[mirror]\nto = """/old"""\n',
        '[mirror]\nto = "/a\\u0062"\n',
        '[mirror]\n"to" = "/old"\n',
        "[watch]\nstatus_dir = '''\n[mirror]\n'''\n",
    ],
)
def test_what_cannot_be_edited_safely_is_left_to_the_person(text: str, tmp_path: Path) -> None:
    path = tmp_path / "config.toml"
    path.write_text(text)
    with pytest.raises(ConfigError, match="cannot be edited safely") as told:
        set_value(path, "mirror", "to", "/new")
    assert 'to = "/new"' in told.value.hint
    assert path.read_text() == text


def test_a_new_file_is_for_its_owner_and_a_link_stays_one(tmp_path: Path) -> None:
    path = tmp_path / "new" / "config.toml"
    assert set_value(path, "mirror", "to", "/new")
    assert (path.stat().st_mode & 0o777, path.parent.stat().st_mode & 0o777) == (0o600, 0o700)
    link = tmp_path / "link.toml"
    link.symlink_to(path)
    assert set_value(link, "mirror", "to", "/other")
    assert link.is_symlink()
    assert load(path).mirror.to == "/other"


def test_a_folder_that_cannot_be_made_is_told(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="/proc/nothing") as told:
        set_value(Path("/proc/nothing/config.toml"), "mirror", "to", "/new")
    assert 'to = "/new"' in told.value.hint


@given(st.text().filter(lambda text: "\x7f" not in text and text.isprintable()))
def test_any_name_of_a_folder_comes_back(name: str) -> None:
    assert toml(edited("# remark\n", "mirror", "to", name), "")["mirror"]["to"] == name
