"""A Python program that does what it is told: one order a line on standard input, one answer a line on standard output.

Orders and answers are JSON: {"do": statements} or {"ask": expression}. The names it knows stay from order to order. It
is run as a program by `tests.support.processes.children`, so it imports nothing of the tests.
"""

import json
import os
import sys
import traceback
from typing import Any, TextIO


def serve(orders: TextIO, answers: TextIO, names: dict[str, Any]) -> None:
    """Obeys until the orders end."""
    _answer(answers, {"answer": os.getpid()})
    for line in iter(orders.readline, ""):
        _answer(answers, _obey(json.loads(line), names))


def fork(directory: str, names: dict[str, Any]) -> int:
    """Forks a child that obeys orders from `directory/orders`, a named pipe, and answers into `directory/answers`."""
    child = os.fork()
    if child:
        return child
    try:
        with open(f"{directory}/orders") as orders, open(f"{directory}/answers", "w") as answers:
            os.dup2(orders.fileno(), 0)  # so that an exec finds them
            os.dup2(answers.fileno(), 1)
            serve(orders, answers, names)
    finally:
        os._exit(0)


def become() -> None:
    """Starts over as a fresh program in the same process."""
    os.execv(sys.executable, [sys.executable, __file__])


def _obey(order: dict[str, str], names: dict[str, Any]) -> dict[str, Any]:
    try:
        if "ask" in order:
            return {"answer": eval(order["ask"], names)}
        exec(order["do"], names)
    except Exception:  # noqa: BLE001 whatever it was, the test shall read it
        return {"error": traceback.format_exc()}
    return {"answer": None}


def _answer(answers: TextIO, answer: dict[str, Any]) -> None:
    answers.write(json.dumps(answer) + "\n")
    answers.flush()


if __name__ == "__main__":
    names: dict[str, Any] = {"__name__": "actor", "os": os, "sys": sys, "become": become}
    names["fork"] = lambda directory: fork(directory, names)
    serve(sys.stdin, sys.stdout, names)
