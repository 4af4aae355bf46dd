"""The runtime model: chips, memory, programs and dispatch of tt-metal, without hardware."""
