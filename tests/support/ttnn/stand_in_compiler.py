"""Stands in for the kernel compiler, which no package index carries: whatever it is asked to compile, out comes one
small function. Mock chips run nothing, so the runtime only wants an ELF file that links and can be relocated.

How much it does nothing follows from the kernel's name and the processor, so that every binary has a size of its own
that `binary_bytes` foretells. Runs by itself, not as part of the tests: `stand_in_compiler.py VERSION ARGUMENTS...`
"""

import subprocess
import sys
import zlib
from pathlib import Path

GCC = ["riscv64-unknown-elf-gcc", "-march=rv32im", "-mabi=ilp32", "-ffreestanding"]
# The runtime wants the first function at the very start of the text, and some text to be initialised data.
SOURCE = """
static volatile int seen = 1;
static int helper(int number) { return number * 3 + seen; }
__attribute__((weak, section(".start"))) void _start(void) { seen = helper(seen); __asm__(".rept %d\\n nop\\n .endr"); }
"""
LEAST_BYTES = 36  # the function without its nops, and one word of data
NOP_BYTES = 4
MOST_NOPS = 1200


def nop_count(kernel: str, processor: str) -> int:
    return zlib.crc32(f"{kernel} on {processor}".encode()) % MOST_NOPS


def binary_bytes(kernel: str, processor: str) -> int:
    """Text and data of what comes out for a kernel of this name: `binary_bytes("reader_unary", "ncrisc")`."""
    return LEAST_BYTES + NOP_BYTES * nop_count(kernel, processor)


def main(version: str, arguments: list[str]) -> int:
    if "--version" in arguments:
        print(version)
        return 0
    if "c++-header" in arguments:
        return 1  # the runtime goes on without a precompiled header
    output = arguments[arguments.index("-o") + 1]
    return compile_to(output) if "-c" in arguments else link_to(output, arguments)


def compile_to(output: str) -> int:
    """The runtime compiles in `.../kernels/NAME/HASH/PROCESSOR`."""
    *_, kernel, _, processor = Path.cwd().parts
    Path(output).with_suffix(".d").write_text(f"{output}:\n", encoding="utf-8")
    command = [*GCC, "-O1", "-x", "c", "-c", "-", "-o", output]
    return subprocess.run(command, input=SOURCE % nop_count(kernel, processor), text=True, check=False).returncode


def link_to(output: str, arguments: list[str]) -> int:
    """Keeps scripts, options and the kernel's own object; the runtime's objects are of another compiler."""
    kept = [word for word in arguments if word.startswith(("-Wl,", "-T", "-L"))]
    objects = [word for word in arguments if word.endswith(".o") and "/runtime/hw/lib/" not in word]
    command = [*GCC, "-nostdlib", "-Wl,--no-relax", *kept, *objects, "-o", output]
    return subprocess.run(command, check=False).returncode


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], sys.argv[2:]))
