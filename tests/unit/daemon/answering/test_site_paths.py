"""What a port tells of sites."""

import json

from ttmem.daemon.answering.site_paths import with_public_body, without_directories

FRAME = {"file": "models/llama/model.py", "line": 118, "function": "forward"}
SITE = {"frames": (FRAME,), "text": "/models/ada/model.py:7 main", "operation": "ttnn.matmul"}


def test_sites_name_files_without_their_directories() -> None:
    told = without_directories(
        {"path": "/dev/shm/x.journal", "site": SITE, "allocations": [{"stack": ["/models/ada/a.py:3 in f", "b.py:4"]}]}
    )

    assert told["site"] == {
        "frames": [{**FRAME, "file": "model.py"}],
        "text": "model.py:7 main",
        "operation": "ttnn.matmul",
    }
    assert told["allocations"] == [{"stack": ["a.py:3 in f", "b.py:4"]}]
    assert told["path"] == "/dev/shm/x.journal"


def test_the_unix_socket_is_told_all_of_it() -> None:
    body = json.dumps({"processes": [{"incidents": [{"site": SITE, "other_site": None}]}]}).encode()

    answer = with_public_body(body, '"tag"', 5)

    assert answer.as_told(is_public=False) == body
    assert b"models/llama" not in answer.as_told(is_public=True)
    assert b"/models/ada" not in answer.as_told(is_public=True)
    assert (
        json.loads(answer.as_told(is_public=True))["processes"][0]["incidents"][0]["site"]["frames"][0]["line"] == 118
    )


def test_what_has_no_sites_is_sent_as_it_is() -> None:
    assert with_public_body(b'{"a":1}').as_told(is_public=True) == b'{"a":1}'
