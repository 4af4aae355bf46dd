"""Any story of several processes, with children, reconnections and sudden deaths, comes out as the model says."""

import os
import random
from contextlib import ExitStack
from pathlib import Path

import pytest

from tests.support.server.server_bytes import SIZES, Message, Type
from tests.support.server.server_clients import ServerClient, a_client, order
from tests.support.server.server_figures import of_model
from tests.support.server.server_model import ServerModel
from tests.support.server.server_serving import Engine
from tests.support.simulated.whole_rows import check_overview
from tests.support.timing.waiting import wait_until

DEVICES = (0, 1, 40)
REPORTS = (Type.ALLOC, Type.FREE, Type.CB_ALLOC, Type.CB_FREE, Type.KERNEL_LOAD, Type.KERNEL_UNLOAD)


class Story:
    """Clients that do random things, and the model that is told the same."""

    def __init__(self, seed: int, program: Path, engine: Engine, stage: ExitStack) -> None:
        self.rng = random.Random(seed)
        self.model = ServerModel()
        self.engine = engine
        self._program, self._stage = program, stage
        self._clients: list[ServerClient] = []
        self._children: list[tuple[ServerClient, int]] = []

    def go_on(self) -> None:
        acts = [self.report] * 40 + [self.arrive, self.die, self.reconnect, self.fork, self.lose_a_child]
        self.rng.choice(acts if self._clients else [self.arrive])()

    def arrive(self) -> None:
        if len(self._clients) < 6:
            one = a_client(self._program, self.engine.path, message_bytes=self.rng.choice(SIZES))
            self._clients.append(self._stage.enter_context(one))

    def report(self) -> None:
        client = self.rng.choice(self._clients)
        message = self._message()
        client.tell(_order_of(message))
        self.model.apply(client.pid, message)

    def die(self) -> None:
        client = self._clients.pop(self.rng.randrange(len(self._clients)))
        client.settle()
        client.end()  # its children go with it
        self.model.end(client.pid)
        for parent, child in [pair for pair in self._children if pair[0] is client]:
            self._children.remove((parent, child))
            self.model.end(child)

    def reconnect(self) -> None:
        client = self.rng.choice(self._clients)
        client.settle()
        client.tell("reconnect")

    def fork(self) -> None:
        client = self.rng.choice(self._clients)
        message = self._message()
        client.settle()
        child = client.child(_order_of(message), is_fresh=self.rng.random() < 0.5)
        self._children.append((client, child))
        self.model.apply(child, message)

    def lose_a_child(self) -> None:
        if self._children:
            parent, child = self._children.pop(self.rng.randrange(len(self._children)))
            parent.settle()
            os.kill(child, 9)
            self.model.end(child)

    def check(self) -> None:
        for client in self._clients:
            client.settle()
        wait_until(lambda: self.engine.figures() == of_model(self.model))
        for pid in [client.pid for client in self._clients] + [child for _, child in self._children]:
            held = of_model(self.model.of(pid))
            if held.used:
                assert self.engine.figures_of(pid) == held
        check_overview(self.engine.ledger)

    def _message(self) -> Message:
        rng = self.rng
        return Message(
            rng.choice(REPORTS), rng.choice(DEVICES), rng.choice((1, 64, 4096)), rng.randrange(5), rng.randrange(6)
        )


def _order_of(message: Message) -> str:
    return order(Type(message.type), message.device, message.size, message.kind, message.id)


@pytest.mark.parametrize("seed", [*range(3), *(pytest.param(seed, marks=pytest.mark.slow) for seed in range(3, 6))])
def test_a_story_of_several_processes_comes_out_as_the_model_says(program: Path, engine: Engine, seed: int) -> None:
    with ExitStack() as stage:
        story = Story(seed, program, engine, stage)
        for _ in range(12):
            for _ in range(50):
                story.go_on()
            story.check()
    wait_until(lambda: not engine.live() and not engine.figures().used)
