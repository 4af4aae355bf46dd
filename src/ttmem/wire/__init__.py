"""The bytes of the older design's socket protocol: one packed message, in the four sizes it had. No input or output."""

from ttmem.wire.layout import LAYOUTS, SIZES, Layout, Place
from ttmem.wire.messages import DEFAULT_SOCKET, KernelType, Message, MessageType

__all__ = ["DEFAULT_SOCKET", "LAYOUTS", "SIZES", "KernelType", "Layout", "Message", "MessageType", "Place"]
