// A second library of the runtime, from which launches come; the first is found through it, as an ordinary dependency.
// As in the runtime's own, each device operation has a function for its launches.
namespace tt::tt_metal::distributed {
class MeshCommandQueue;
class MeshWorkload;
void EnqueueMeshWorkload(MeshCommandQueue& queue, MeshWorkload& workload, bool is_blocking);
}  // namespace tt::tt_metal::distributed

using namespace tt::tt_metal::distributed;

namespace ttnn {
namespace operations::fake {
struct FakeDeviceOperation;
struct OtherDeviceOperation;
}  // namespace operations::fake

namespace device_operation {
template <class Operation>
struct MeshDeviceOperationAdapter {};

namespace detail {
template <class Adapter>
void enqueue_mesh_workload(MeshCommandQueue& queue, MeshWorkload& workload, bool is_blocking) {
    EnqueueMeshWorkload(queue, workload, is_blocking);
}
}  // namespace detail
}  // namespace device_operation
}  // namespace ttnn

using ttnn::device_operation::MeshDeviceOperationAdapter;
using ttnn::device_operation::detail::enqueue_mesh_workload;
using namespace ttnn::operations::fake;

// What users call: nothing more is to be done after a call that ends a function, so its frame would be gone.
namespace ttnn::operations::fake {
[[gnu::noinline]] void other(MeshCommandQueue& queue, MeshWorkload& workload) {
    enqueue_mesh_workload<MeshDeviceOperationAdapter<OtherDeviceOperation>>(queue, workload, true);
    asm volatile("");
}
}  // namespace ttnn::operations::fake

// Launches that wait for their end are another operation's, which users know by a name.
extern "C" void fake_operations_enqueue(MeshCommandQueue& queue, MeshWorkload& workload, bool is_blocking) {
    if (is_blocking)
        ttnn::operations::fake::other(queue, workload);
    else
        enqueue_mesh_workload<MeshDeviceOperationAdapter<FakeDeviceOperation>>(queue, workload, is_blocking);
}
