// The whole stand-in as one translation unit: the standard library's headers are read once.
#include "buffers.cpp"
#include "devices.cpp"
#include "programs.cpp"
#include "script.cpp"
#include "workloads.cpp"
#include "world.cpp"
