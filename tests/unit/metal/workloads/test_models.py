"""The models have the dimensions that were published: counted weight by weight, chip by chip."""

from math import prod

import pytest

from ttmem.metal.chips import board
from ttmem.metal.workloads.building.steps import Tensor
from ttmem.metal.workloads.llama import Llama
from ttmem.metal.workloads.resnet import ResNet


def elements(*tensors: Tensor) -> int:
    return sum(prod(tensor.shape) for tensor in tensors)


def published_parameters(llama: Llama) -> int:
    """All weights of a model, without the columns that pad its output; a split model's from all chips together."""
    chip_count = llama.split_rows * llama.split_columns
    width, vocabulary = llama.sizes["width"], llama.sizes["vocabulary"]
    matrices = 0
    norms = width  # the last one
    for layer in range(llama.layer_count):
        weights = [*llama.layer_weights(layer)]
        matrices += elements(*(tensor for tensor in weights if "norm" not in tensor.name)) * chip_count
        norms += elements(*(tensor for tensor in weights if "norm" in tensor.name)) * llama.split_columns
    return matrices + norms + 2 * width * vocabulary


@pytest.mark.parametrize(
    ("llama", "parameter_count"),
    [
        (Llama("llama-3.1-8b"), 8_030_261_248),
        (Llama("llama-3.3-70b"), 70_553_706_496),
        (Llama("llama-3.3-70b", 8, 4), 70_553_706_496),
    ],
)
def test_a_llama_has_as_many_parameters_as_published(llama: Llama, parameter_count: int) -> None:
    assert published_parameters(llama) == parameter_count


def test_the_output_is_cut_into_pieces_that_hold_the_vocabulary() -> None:
    for llama in (Llama("llama-3.1-8b"), Llama("llama-3.3-70b", 8, 4)):
        columns = sum(tensor.shape[-1] for tensor in llama.shared_tensors() if tensor.name.startswith("output"))

        assert 0 <= columns * llama.split_rows - llama.sizes["vocabulary"] < 0.03 * llama.sizes["vocabulary"]


def test_the_cache_holds_the_tokens_of_all_pages() -> None:
    keys, values = Llama("llama-3.1-8b").layer_cache(0)

    assert elements(keys) == elements(values) == 1024 * 32 * 8 * 128


def test_resnet_50_has_as_many_parameters_as_published() -> None:
    resnet = ResNet(board("p150").chip().grid)

    convolutions = sum(
        layer.kernel**2 * layer.taken.channels * layer.made.channels for layer in resnet.layers if layer.kernel
    )

    stem, classes = 7 * 7 * 3 * 64, (2048 + 1) * 1000
    norms = 2 * (64 + sum(layer.made.channels for layer in resnet.layers if layer.kernel))
    assert convolutions + stem + classes + norms == 25_557_032


def test_resnet_50_has_53_convolutions() -> None:
    resnet = ResNet(board("n150").chip().grid)

    assert 1 + sum(layer.kernel > 0 for layer in resnet.layers) == 53


def test_every_pixel_of_every_image_finds_a_core() -> None:
    for name in ("n150", "n300", "p150", "galaxy"):
        resnet = ResNet(board(name).chip().grid)
        for layer in resnet.layers:
            cut = resnet.cut(layer.made)
            assert cut.core_count <= prod(resnet.grid)
            assert resnet.rows(layer.made) * layer.made.channels <= cut.height * cut.width * 1024 * cut.core_count
