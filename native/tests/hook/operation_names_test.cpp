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
std::string users(const std::string& symbol) {
    char name[64];
    users_operation(symbol, name, sizeof name);
    return name;
}
std::string family(const std::string& path) { return std::string(family_in_path(path)); }

}  // namespace

TEST(an_operation_is_called_as_its_users_call_it) {
    CHECK_EQUAL(users("_ZN4ttnn3addERKNS_6TensorES2_"), "ttnn.add");
    CHECK_EQUAL(users("_ZN4ttnn11transformer28scaled_dot_product_attentionERKNS_6TensorE"),
                "ttnn.transformer.scaled_dot_product_attention");
    CHECK_EQUAL(users("_ZN4ttnn10operations6matmul6linearERKNS_6TensorE"), "ttnn.linear");
    CHECK_EQUAL(users("_ZN4ttnn10operations12experimental11transformer10split_headERKNS_6TensorE"),
                "ttnn.experimental.split_head");
    CHECK_EQUAL(users("_ZN4ttnn10operations13complex_unary6_angleERKNS_6TensorE"), "ttnn.angle");
}

TEST(what_is_below_an_operation_is_not_its_users) {
    for (const std::string symbol :
         {"_ZN4ttnn4prim9binary_ngERKNS_6TensorE", "_ZN4ttnn16device_operation6launchIiEEvv", "_ZN4ttnn6detail3addEv",
          "_ZN4ttnn6Tensor9to_deviceEv", "_ZN4ttnn10operations5unary12ExecuteUnary6invokeEv", "_ZN2tt8tt_metal3addEv",
          "_ZN4ttnnE", "_ZN4ttnn", "_ZN4ttnn999addEv", "_ZN", "add", ""}) {
        CHECK(!is_users_operation(symbol));
        CHECK_EQUAL(users(symbol), "");
    }
}

TEST(a_name_that_does_not_fit_is_left_out_and_ends) {
    char name[8];
    users_operation("_ZN4ttnn3addEv", name, sizeof name);
    CHECK_EQUAL(std::string(name), "ttnn");
    users_operation("_ZN4ttnn3addEv", name, 2);
    CHECK_EQUAL(std::string(name), "");
}

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
