"""What is there before the first command of a page: workloads that hold memory on simulated chips, a daemon.

A page names its scene in a comment: `<!-- scene: llama-8b daemon -->` starts the workload `llama-8b` of `ttmem demo`,
waits until it has done all its steps and holds what it holds then, and starts `ttmem serve`.
"""

from tests.support.docs.shell import Shell
from ttmem.metal.workloads import WORKLOADS

PLAYING = """\
import signal
import sys
import ttmem
from ttmem.metal.workloads import WORKLOADS, Player

workload = WORKLOADS[sys.argv[1]]
ttmem.label(workload.name)
ttmem.record_sites()
with workload.open(tracker=ttmem.GraphTracker()) as mesh:
    player = Player(mesh, phase=ttmem.phase)
    for step in player.play(workload.steps(mesh.chips[0])):
        if player.round_count == workload.round_count:
            break
    print("ready", flush=True)
    signal.pause()
"""


def set_the_scene(shell: Shell, names: list[str]) -> None:
    """Starts what a page names, in that order; each is ready before the next."""
    for name in names:
        if name == "daemon":
            assert shell.run("ttmem serve &").text.startswith("ttmem: serving")
        else:
            assert name in WORKLOADS, f"{name} is neither a workload nor `daemon`"
            (shell.directory / "playing.py").write_text(PLAYING)
            assert shell.run(f"TTMEM=1 python playing.py {name} &").text == "ready\n"
