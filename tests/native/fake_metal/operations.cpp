// A second library of the runtime, from which launches come; the first is found through it, as an ordinary dependency.
namespace tt::tt_metal::distributed {
class MeshCommandQueue;
class MeshWorkload;
void EnqueueMeshWorkload(MeshCommandQueue& queue, MeshWorkload& workload, bool is_blocking);
}  // namespace tt::tt_metal::distributed

using namespace tt::tt_metal::distributed;

extern "C" void fake_operations_enqueue(MeshCommandQueue& queue, MeshWorkload& workload, bool is_blocking) {
    EnqueueMeshWorkload(queue, workload, is_blocking);
}
