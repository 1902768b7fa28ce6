"""A person presses a button of a push, and the real daemon does it."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import Any

import pytest

from ..fakes.ntfy import Ntfy, press

TRAIN = "print('step 1/9 loss 2.5', flush=True)\nraise KeyError('weights')\n"


@pytest.fixture
def ntfy() -> Iterator[Ntfy]:
    made = Ntfy()
    yield made
    made.close()


@pytest.mark.slow
def test_an_incident_is_acknowledged_from_the_phone(box: Any, ntfy: Ntfy) -> None:
    box.configure(
        f'[alerts]\nattach = false\nurls = ["{ntfy.apprise}/pushes"]\nmode = "all"\n'
        f'[answers]\ntopic = "{ntfy.url}/answers"\n'
    )
    (box.root / "config.toml").chmod(0o600)
    box.run(sys.executable, "-c", TRAIN, name="gpt")
    box.until(lambda: any(one.buttons for one in ntfy.topics.get("pushes", ())), "the push")
    (pushed,) = (one for one in ntfy.topics["pushes"] if one.buttons)
    assert pushed.buttons[0].label == "Acknowledge"
    assert press(pushed.buttons[0]) == 200
    box.until(lambda: box.ask("incidents")[0]["state"] == "acknowledged", "what was asked for")
    box.until(lambda: ntfy.topics["pushes"][-1].title.startswith("[ACK] gpt"), "the word about it")
