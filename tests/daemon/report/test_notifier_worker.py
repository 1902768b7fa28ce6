from __future__ import annotations

import subprocess
import sys
from typing import Any

from ...fakes.notifier import all_at_once, jobs_of, one_by_one
from ...fakes.receiver import Receiver


def test_every_job_is_answered_under_its_id(receivers: Any) -> None:
    broken, good = receivers(), receivers()
    broken.status = 500
    jobs = jobs_of((broken.url, good.url))
    answers = {answer["id"]: answer for answer in all_at_once(jobs)}
    assert [answers[job["id"]]["ok"] for job in jobs] == [False, True]
    assert [answers[job["id"]]["url"] for job in jobs] == ["url 1 (json://)", "url 2 (json://)"]
    assert [len(broken.got), len(good.got)] == [1, 1]


def test_a_service_that_hangs_holds_up_no_other(receivers: Any) -> None:
    hangs, good = receivers(), receivers()
    hangs.hang.clear()
    first, second = all_at_once(jobs_of((hangs.url, good.url)))
    assert (first["url"], first["ok"]) == ("url 2 (json://)", True)
    assert (second["url"], second["ok"]) == ("url 1 (json://)", False)


def test_one_that_answers_byte_by_byte_is_given_up(receivers: Any) -> None:
    slow, good = receivers(), receivers()
    slow.dribble = True
    module = "middlewatch.daemon.report.notifier_worker"
    words = f"from {module} import main; import {module} as m; m.JOB_S = 10.0; main()"
    first, second = all_at_once(jobs_of((slow.url, good.url)), (sys.executable, "-c", words))
    assert (first["url"], first["ok"]) == ("url 2 (json://)", True)
    assert (second["ok"], second["error"]) == (False, "it did not answer within 10 s")


def test_a_token_that_is_refused_and_a_time_to_wait(receiver: Receiver) -> None:
    (job,) = jobs_of([receiver.url])
    told = []
    for status, headers in (
        (401, {}),
        (404, {}),
        (500, {}),
        (429, {"Retry-After": "7"}),
        (503, {"Retry-After": "Fri, 31 Dec 2999 23:59:59 GMT"}),
        (429, {"Retry-After": "soon"}),
        (200, {"Retry-After": "9"}),
    ):
        receiver.status, receiver.headers = status, headers
        (answer,) = one_by_one([job])
        told.append((answer["ok"], answer["refused"], answer["retry_after_s"]))
    assert told == [
        (False, True, None),
        (False, True, None),
        (False, False, None),
        (False, False, 7.0),
        (False, False, 3600.0),
        (False, False, None),
        (True, False, None),
    ]


def test_every_try_of_a_message_has_its_key(receiver: Receiver) -> None:
    (job,) = jobs_of([receiver.url], key="id7")
    list(one_by_one([job, job | {"id": "again"}]))
    assert [got.headers["Idempotency-Key"] for got in receiver.got] == ["id7", "id7"]


def test_pings_and_tests_are_never_copies_of_each_other(receiver: Receiver) -> None:
    (job,) = jobs_of([receiver.url])
    url = f"http://127.0.0.1:{receiver.port}/uuid"
    ping = {"id": "ping 1", "url": url, "label": "heartbeat", "service": "healthchecks"}
    list(one_by_one([job, ping | {"ping": "success", "body": "well"}]))
    assert len(receiver.got) == 2
    assert not any("Idempotency-Key" in got.headers for got in receiver.got)


def test_two_chats_of_one_url_are_not_copies_of_each_other(receiver: Receiver) -> None:
    (job,) = jobs_of([f"ntfy://127.0.0.1:{receiver.port}/first/second"], key="id7")
    list(one_by_one([job, job | {"id": "again"}]))
    keys = [got.headers["Idempotency-Key"] for got in receiver.got]
    assert keys == ["id7", "id7-2", "id7", "id7-2"]


def test_pushes_and_pings_go_through_the_proxy(receiver: Receiver) -> None:
    """The receiver is the proxy here: it gets the whole address in the first line."""
    proxy = f"http://bob:hunter22@127.0.0.1:{receiver.port}"
    jobs = jobs_of(["json://phone.invalid/x"], proxy=proxy)
    ping = {"id": "p", "url": "http://hc.invalid/uuid", "label": "heartbeat", "proxy": proxy}
    jobs.append(ping | {"service": "healthchecks", "ping": "success", "body": "fine"})
    assert [answer["ok"] for answer in one_by_one(jobs)] == [True, True]
    assert [got.path for got in receiver.got] == [
        "http://phone.invalid/x",
        "http://hc.invalid/uuid",
    ]
    assert receiver.got[1].text == "fine"
    assert "Proxy-Authorization" in receiver.got[0].headers
    receiver.close()
    (failed,) = one_by_one([jobs[1]])
    assert not failed["ok"]
    assert "hunter22" not in str(failed)


def test_what_is_no_url_is_an_answer() -> None:
    urls = ("", "nonsense", "nosuch://x", "json://", "tgram://short", "://", "mailto://a b")
    answers = all_at_once(jobs_of(urls))
    assert len(answers) == len(urls)
    assert not any(answer["ok"] for answer in answers)
    assert all(answer["error"] for answer in answers)
    assert sorted(answer["url"].split(" (")[0] for answer in answers) == [
        f"url {n}" for n in range(1, len(urls) + 1)
    ]


def test_the_resident_side_knows_no_apprise() -> None:
    words = (
        "import sys; from middlewatch.daemon.report import outbox; "
        "print([m for m in sys.modules if m.split('.')[0] in ('apprise', 'requests', 'logging')])"
    )
    done = subprocess.run([sys.executable, "-c", words], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
