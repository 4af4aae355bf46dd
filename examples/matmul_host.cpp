// A host as a runtime would be: a mesh of two chips, a program with kernels and circular buffers, phases, and handles
// kept in the objects they belong to. Shared library.
//
//   TTMEM=1 TTMEM_LABEL=matmul ./matmul_host wait        and in another terminal: ttmem ps
#include <cstdio>
#include <cstring>
#include <string>
#include <vector>

#include "ttmem/client.h"

namespace {

// A buffer of the runtime: it knows its handle, so giving it back needs no search.
class Tensor {
public:
    Tensor(uint16_t target, uint64_t id, uint64_t bytes) {
        ttmem_buffer buffer{};
        buffer.target = target;
        buffer.id = id;
        buffer.type = TTMEM_BUFFER_L1;
        buffer.requested_bytes = bytes;
        buffer.reserved_bytes = (bytes + 63) / 64 * 64;
        buffer.options = TTMEM_BY_HANDLE;
        handle_ = ttmem_buffer_alloc(&buffer);
    }
    ~Tensor() { ttmem_free(handle_); }
    Tensor(const Tensor&) = delete;
    Tensor& operator=(const Tensor&) = delete;

private:
    ttmem_handle handle_;
};

uint16_t open_chip(uint64_t unique_id, int32_t index) {
    ttmem_device chip{};
    chip.unique_id = unique_id;
    chip.index = index;
    chip.arch = "wormhole_b0";
    chip.board = "n300";
    chip.grid_x = chip.grid_y = 8;
    chip.kernel_ring_bytes = 70'656;
    chip.capacity_bytes[TTMEM_L1] = 64ull * 1'395'424;
    return ttmem_device_open(&chip);
}

void load_program(uint16_t mesh, uint64_t program) {
    ttmem_kernel kernel{};
    kernel.target = mesh;
    kernel.id = 100 + program;
    kernel.program = program;
    kernel.kind = TTMEM_KERNEL_APPLICATION;
    kernel.binary_bytes = 5'120;
    kernel.core_count = 64;
    kernel.exact_bytes = 64 * 13'312;  // five binaries, each rounded up to 16 bytes, on every core
    ttmem_kernel_load(&kernel);

    ttmem_circular_buffer cb{};
    cb.target = mesh;
    cb.id = 200 + program;
    cb.program = program;
    cb.address = 103'712;
    cb.size_per_core_bytes = 8'192;
    cb.core_count = 64;
    ttmem_cb_alloc(&cb);
    ttmem_binary_status(mesh, program, TTMEM_COMMITTED, 16'384);
}

}  // namespace

int main(int count, char** words) {
    const uint16_t chips[] = {open_chip(0x100, 0), open_chip(0x101, 1)};
    const uint16_t mesh = ttmem_mesh_open(1, 1, 2, chips, 2);
    load_program(mesh, 1);

    const std::string name = "matmul";
    const uint32_t phase = ttmem_phase_begin(ttmem_intern(name.data(), static_cast<uint32_t>(name.size())));
    {
        const Tensor a(mesh, 1, 1 << 20), b(mesh, 2, 1 << 20), c(mesh, 3, 1 << 20);
        for (int step = 0; step < 10; ++step) ttmem_launch(mesh, 1);
        if (count > 1 && std::strcmp(words[1], "wait") == 0) {
            std::printf("press Enter to end\n");
            std::getchar();
        }
    }
    ttmem_phase_end(phase);

    const char* journal = ttmem_journal_path();
    std::printf("10 launches on 2 chips, 3 MiB of L1 on each at the peak; journal: %s\n",
                *journal ? journal : "none (set TTMEM=1 to report)");
    ttmem_mesh_close(mesh);
    for (const uint16_t chip : chips) ttmem_device_close(chip);
    return 0;
}
