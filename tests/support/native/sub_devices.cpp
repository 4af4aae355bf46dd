// Preloaded into the stock runtime on made-up chips, where sub-devices cannot be had otherwise.
//
//   ttmem_test_sub_device   from here on buffers are asked of the sub-device of this number; below 0: of the mesh
//
// Loading a manager of sub-devices tells the chips of it, through a command queue that made-up chips do not have: that part is
// left out. Python cannot say on which sub-device a tensor lies: it is said here, where all buffers are made.
#include <dlfcn.h>

#include <cstdint>
#include <cstdlib>

#define SHOWN __attribute__((visibility("default")))
#define RESET                                                                                                       \
    "_ZN2tt8tt_metal23SubDeviceManagerTracker22reset_sub_device_stateERKSt10unique_ptrINS0_16SubDeviceManagerESt14" \
    "default_deleteIS3_EE"
#define CREATE                                                                                                         \
    "6createEPNS0_7IDeviceEmmNS0_10BufferTypeERKNS0_18BufferShardingArgsESt8optionalIbES8_IN4ttsl10StrongTypeIhNS0_14" \
    "SubDeviceIdTagEEEE"
#define CREATE_NEW "_ZN2tt8tt_metal10BufferImpl" CREATE
#define CREATE_OLD "_ZN2tt8tt_metal6Buffer" CREATE  // before 0.79

extern "C" {
SHOWN int ttmem_test_sub_device;

SHOWN void reset_nothing(void*, const void*) asm(RESET);
SHOWN void reset_nothing(void*, const void*) {}
}

namespace {

// A shared pointer comes back by way of `result`; both options come as a value and whether there is one.
using Create = void*(void* result, void* device, uint64_t size, uint64_t page, int type, const void* sharding,
                     uint16_t bottom_up, uint16_t sub_device);

Create* real_one(const char* name, const void* caller) {
    Dl_info from;
    if (dladdr(caller, &from) == 0) abort();
    void* library = dlopen(from.dli_fname, RTLD_LAZY | RTLD_NOLOAD);
    void* found = library == nullptr ? nullptr : dlsym(library, name);
    if (found == nullptr) abort();
    return reinterpret_cast<Create*>(found);
}

uint16_t chosen(uint16_t asked) {
    return ttmem_test_sub_device < 0 ? asked : static_cast<uint16_t>(0x100 | ttmem_test_sub_device);
}

__attribute__((constructor)) void begin() { ttmem_test_sub_device = -1; }

}  // namespace

#define STAND_IN(function, name)                                                                        \
    extern "C" SHOWN Create function asm(name);                                                         \
    extern "C" SHOWN void* function(void* result, void* device, uint64_t size, uint64_t page, int type, \
                                    const void* sharding, uint16_t bottom_up, uint16_t sub_device) {    \
        static Create* real = real_one(name, __builtin_return_address(0));                              \
        return real(result, device, size, page, type, sharding, bottom_up, chosen(sub_device));         \
    }
STAND_IN(create_new, CREATE_NEW)
STAND_IN(create_old, CREATE_OLD)
