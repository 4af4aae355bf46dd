// What the names of functions and sources say of an operation: names of 0.81.1 and 0.78 as their libraries export them.
#include "hook/launches/operation_names.cpp"  // the hook is one piece with the runtime; this part of it needs none

#include <string>

#include "support/check.hpp"

namespace ttmem::hook {
namespace {

std::string a_launch(const std::string& operation) {
    return "_ZN4ttnn16device_operation6detail21enqueue_mesh_workloadITkNS0_36DeviceOperationWithMeshDeviceAdapterENS0_"
           "26MeshDeviceOperationAdapterI" +
           operation + "EEEvRKNT_22operation_attributes_tERKNS8_13tensor_args_tE";
}

std::string named(const std::string& symbol) { return std::string(operation_in_symbol(symbol)); }
std::string family(const std::string& path) { return std::string(family_in_path(path)); }

}  // namespace

TEST(the_operation_of_a_launch_is_the_last_name_of_its_type) {
    CHECK_EQUAL(named(a_launch("NS_10operations10index_fill18IndexFillOperationE")), "IndexFillOperation");
    CHECK_EQUAL(named(a_launch("NS_10operations12experimental11transformer29NlpCreateHeadsDeviceOperationE")),
                "NlpCreateHeadsDeviceOperation");
    CHECK_EQUAL(named(a_launch("NS_4prim23BinaryNgDeviceOperationE")), "BinaryNgDeviceOperation");
    CHECK_EQUAL(named(a_launch("N3abc3DefE")), "Def");
    CHECK_EQUAL(named(a_launch("3Def")), "Def");
    CHECK_EQUAL(named(a_launch("NS1_3abc3DefIiEE")), "Def");
    CHECK_EQUAL(named(a_launch("NSt3abc3DefE")), "Def");
}

TEST(a_name_that_is_cut_or_of_something_else_names_no_operation) {
    CHECK_EQUAL(named("_ZN4ttnn16device_operation6detail21enqueue_mesh_workloadEv"), "");
    CHECK_EQUAL(named("main"), "");
    CHECK_EQUAL(named(""), "");
    CHECK_EQUAL(named("MeshDeviceOperationAdapterI"), "");
    CHECK_EQUAL(named("MeshDeviceOperationAdapterIN"), "");
    CHECK_EQUAL(named("MeshDeviceOperationAdapterINS"), "");
    CHECK_EQUAL(named("MeshDeviceOperationAdapterINS_99Short"), "");
    CHECK_EQUAL(named("MeshDeviceOperationAdapterINS_99999999999999999999Short"), "");
    CHECK_EQUAL(named("MeshDeviceOperationAdapterINS_0E"), "");
}

TEST(a_family_is_what_a_kernels_path_says_before_device) {
    CHECK_EQUAL(family("ttnn/cpp/ttnn/operations/eltwise/binary_ng/device/kernels/dataflow/reader.cpp"),
                "eltwise/binary_ng");
    CHECK_EQUAL(family("/opt/x/ttnn/cpp/ttnn/operations/matmul/device/kernels/compute/bmm.cpp"), "matmul");
    CHECK_EQUAL(family("ttnn/cpp/ttnn/kernel/dataflow/moreh_common.hpp"), "");
    CHECK_EQUAL(family("tt_metal/impl/dispatch/kernels/cq_prefetch.cpp"), "");
    CHECK_EQUAL(family("ttnn/operations/matmul"), "");
    CHECK(is_shared_family("eltwise/unary") && is_shared_family("data_movement/common"));
    CHECK(!is_shared_family("matmul"));
}

}  // namespace ttmem::hook
