"""The bytes of the older design's socket protocol: one packed message, in the four sizes it had. No input or output."""

from ttmem.wire.layout import LAYOUTS, SIZES, FieldPlace, MessageLayout
from ttmem.wire.messages import DEFAULT_SOCKET, Message, MessageType, WireKernelType

__all__ = ["DEFAULT_SOCKET", "LAYOUTS", "SIZES"]
__all__ += ["FieldPlace", "Message", "MessageLayout", "MessageType", "WireKernelType"]
