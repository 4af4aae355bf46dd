"""Llama models of real dimensions: what they hold, and what they do for a prompt and for a token."""

from ttmem.metal.workloads.llama.model import Llama
from ttmem.metal.workloads.llama.transformer import Transformer

__all__ = ["Llama", "Transformer"]
