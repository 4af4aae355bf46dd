"""What can be shown of a stock runtime, and which of the hook's entries each of it takes.

A need is met by any of its names, joined by `|`: releases spell some things differently. Without a need there is
nothing to show, without a detail there is less. The names are those of the hook's own list; a test holds the two
together.
"""

from typing import NamedTuple

__all__ = ["FEATURES", "Feature", "FeatureNeed"]


class FeatureNeed(NamedTuple):
    """One fact, and the names by which it can be had; the first is today's."""

    first: str
    names: frozenset[str]


class Feature(NamedTuple):
    """One thing that can be shown."""

    name: str
    needs: tuple[FeatureNeed, ...]
    details: tuple[FeatureNeed, ...]
    is_vital: bool = False  # without it there is nothing to see at all


def _needs(*texts: str) -> tuple[FeatureNeed, ...]:
    return tuple(FeatureNeed(text.split("|")[0], frozenset(text.split("|"))) for text in texts)


_MESH = ("mesh_device_initialized", "mesh_impl_id", "mesh_impl_device_ids", "operator_delete")


def _on_a_mesh(*texts: str) -> tuple[FeatureNeed, ...]:
    """Events are reported for the mesh they happen on."""
    return _needs(*_MESH, *texts)


FEATURES = (
    Feature(
        "devices",
        _needs(*_MESH),
        _needs(
            *("mesh_device_created", "mesh_device_closed", "mesh_device_destroyed"),
            *("stats_provider_made|old_stats_provider_made", "mesh_table"),
            *("context_instance", "context_cluster", "cluster_description", "chip_unique_ids"),
            *("mesh_impl_arch", "arch_name", "mesh_impl_grid", "mesh_impl_rows", "mesh_impl_columns"),
            *("mesh_impl_devices", "mesh_impl_allocator", "bank_count", "bank_size", "bank_alignment"),
            *("cluster_board", "board_name"),
        ),
        is_vital=True,
    ),
    Feature(
        "buffers",
        _on_a_mesh(
            *("track_allocate", "track_deallocate", "buffer_address", "buffer_size|buffer_pages"),
            *("buffer_device|buffer_allocator", "buffer_type|buffer_is_dram"),
        ),
        _needs(
            *("buffer_id", "buffer_layout", "buffer_page_size", "buffer_bank_size", "mesh_id"),
            *("buffer_type|buffer_is_l1", "buffer_type|buffer_is_trace", "bank_base|buffer_type"),
        ),
        is_vital=True,
    ),
    Feature(
        "tensors",
        _on_a_mesh("track_allocate", "allocate_tensor", "shape_rank", "shape_begin"),
        _needs("tensor_data_type", "tensor_layout", "tensor_page_size"),
    ),
    Feature(
        "buffers by core",
        _on_a_mesh(
            *("track_allocate", "track_deallocate", "buffer_id", "buffer_device", "mesh_impl_devices"),
            *("buffer_is_by_core", "buffer_core_addresses", "buffer_type|buffer_is_dram"),
        ),
        _needs("core_has_bank"),
    ),
    Feature(
        "out of memory",
        _on_a_mesh("allocate_buffer", "buffer_device|buffer_allocator", "buffer_type|buffer_is_dram"),
        _needs("bank_statistics", "allocator_view"),
    ),
    Feature(
        "circular buffers",
        _on_a_mesh("allocate_circular_buffers", "track_allocate_cb", "deallocate_circular_buffers", "program_id"),
        _needs(
            *(
                "set_global_buffer|assign_global_address",
                "set_global_circular_buffer",
                "program_circular_buffers",
                "cb_address",
            ),
            *("cb_uses_index", "cb_pages", "cb_page_size", "cb_is_on_core", "core_ranges", "core_count"),
            *("allocate_dataflow_buffers", "allocate_scratchpads", "mark_address", "program_cores"),
            *("reserve_local_l1|mark_address",),
        ),
    ),
    Feature(
        "clashes",
        _on_a_mesh("validate_circular_buffers"),
        _needs("validate_dataflow_buffers", "lowest_l1_address"),
    ),
    Feature(
        "kernels",
        _on_a_mesh("add_kernel", "program_destroyed", "program_compile_finished", "program_id", "kernel_packed_size"),
        _needs(
            *(
                "source_from_path|source_made",
                "configure_fabric",
                "configure_command_queues",
                "program_finalize_offsets",
            ),
            *("program_compile_already_exists", "kernel_name", "kernel_core_ranges", "kernel_packed_size|set_binaries"),
            *("demangle",),
            *("data_movement_table", "data_movement_binaries", "compute_table", "compute_binaries"),
            *("ethernet_table", "ethernet_binaries", "dram_table", "dram_binaries"),
        ),
    ),
    Feature(
        "binary status",
        _on_a_mesh("enqueue_workload", "add_program", "binary_status"),
        _needs("workload_destroyed"),
    ),
    Feature(
        "launches",
        _on_a_mesh("enqueue_workload", "add_program"),
        _needs("workload_destroyed", "range_start", "range_end", "coordinate_numbers", "emit_entry"),
    ),
    Feature(
        "kernel ring",
        _on_a_mesh("ring_add_lane", "ring_reserve", "ring_take"),
        _needs("ring_free", "ring_fill"),
    ),
    Feature(
        "traces",
        _on_a_mesh("begin_trace", "end_trace", "replay_trace"),
        _needs("release_trace", "mesh_impl_queue"),
    ),
)
