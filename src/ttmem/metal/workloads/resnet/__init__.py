"""ResNet-50 of real dimensions: what it holds, and what it does with a batch of images."""

from ttmem.metal.workloads.resnet.model import ResNet
from ttmem.metal.workloads.resnet.network import Network

__all__ = ["Network", "ResNet"]
