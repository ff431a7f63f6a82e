"""Tensors of PyTorch with the bits of the CPU's `Elements`."""

import os
import shutil

import numpy as np
import pytest
from conftest import COLUMNS, DEVICE_KINDS, assert_same_bits, check_columns, numbers_of_the_cpu, programs_of

torch = pytest.importorskip("torch")
from torch._dynamo.testing import CompileCounterWithBackend  # noqa: E402
from wellspring import torch as ours  # noqa: E402
from wellspring.torch import Elements  # noqa: E402

kinds = pytest.mark.parametrize("kind", DEVICE_KINDS)


# A name is made outside of what is compiled.
NAMED = Elements(2026, "3/0/17")


def made(kind, size, elements=None, **keywords):
    method, dtype = DEVICE_KINDS[kind]
    return getattr(elements or Elements(2026, "3/0/17"), method)(size, getattr(torch, dtype), **keywords)


@kinds
def test_the_bits_are_those_of_the_cpu(kind):
    assert_same_bits(made(kind, 10**6), numbers_of_the_cpu(kind, 10**6))


# A call has a first index, or a place in a whole array.
PLACES = [(10**6, 0, None, None), (999, 7, None, None), ((5, 6, 7), 0, [3, 7, 11], [40, 32, 48]), ((0, 3), 5, None, None)]


@kinds
@pytest.mark.parametrize("place", PLACES)
def test_the_operations_for_devices_and_the_native_code_give_the_same_bits(kind, place, monkeypatch):
    method, dtype = DEVICE_KINDS[kind]
    size, *where = place
    shape = [size] if isinstance(size, int) else list(size)
    on_device = ours._on_device(NAMED._key, method, shape, getattr(torch, dtype), *where)
    # A CPU's tensor needs none of the operations.
    monkeypatch.setattr(ours, "_METHODS", {})
    first, at, of = where
    on_cpu = made(kind, size, NAMED, first=first, at=at, of=of)
    assert on_cpu.equal(on_device) and on_cpu.dtype == on_device.dtype


def test_vmap_takes_a_call_into_a_function_of_one_row():
    rows = torch.arange(12.0).reshape(4, 3)
    noisy = torch.vmap(lambda row: row + NAMED.standard_normal(3, first=6))(rows)
    assert_same_bits(noisy, rows.numpy() + numbers_of_the_cpu("standard_normal", 3, 6))


def test_the_noise_of_a_loss_has_no_gradient():
    x = torch.ones(5, requires_grad=True)
    (x * NAMED.random(5)).sum().backward()
    assert_same_bits(x.grad, numbers_of_the_cpu("random", 5))


def test_the_text_has_the_algorithm_the_seed_and_the_path():
    sequence = np.random.SeedSequence(2026, spawn_key=(3, 0))
    for elements in (Elements(2026, "3/0"), Elements(sequence)):
        assert repr(elements) == "<of PyTorch, cpu: chacha8, seed 2026, path (3, 0)>"


@pytest.mark.heavy
@kinds
def test_the_bits_of_many_elements_are_those_of_the_cpu(kind):
    # More at a time than are made at a time.
    length = 5 * 10**6
    for first in range(0, 10**8, length):
        assert_same_bits(made(kind, length, first=first), numbers_of_the_cpu(kind, length, first))


@kinds
@pytest.mark.parametrize("first", [1, 15, 2**32 - 8, 2**36 - 3, 2**63 - 5, 2**64 - 30])
def test_the_first_index_may_be_any(kind, first):
    assert_same_bits(made(kind, (10, 3), first=first), numbers_of_the_cpu(kind, (10, 3), first))


@pytest.mark.parametrize("kind", ["random", "random float64", "standard_normal"])
@pytest.mark.parametrize(
    ("at", "shape"),
    [((3, 7, 11), (5, 6, 7)), ((3, 16, 32), (10, 8, 16)), ((0, 5, 0), (40, 3, 48)), ((1, 2, 3), (0, 2, 2))],
)
def test_a_block_is_the_slice_of_the_whole(kind, at, shape):
    place = {"at": at, "of": (40, 32, 48)}
    assert_same_bits(made(kind, shape, **place), numbers_of_the_cpu(kind, shape, **place))


def test_signed_integers_have_the_same_bits():
    for unsigned, signed in ((torch.uint32, torch.int32), (torch.uint64, torch.int64)):
        elements = Elements(5)
        assert elements.bits(100, unsigned).view(signed).equal(elements.bits(100, signed))


@pytest.mark.parametrize("method", COLUMNS)
def test_the_number_at_a_place_has_the_parameters_there(method):
    check_columns(NAMED, method, torch.from_numpy)
    check_columns(NAMED, method, lambda numbers: numbers.tolist())


def test_numbers_with_parameters_have_the_type_and_the_place_that_are_asked_for():
    loc = torch.arange(12.0, requires_grad=True).reshape(3, 4)
    made = NAMED.normal(loc, 2.0, torch.Size((5, 3, 4)), torch.float32, first=7)
    assert made.dtype == torch.float32 and not made.requires_grad
    whole = NAMED.elements.normal(loc.detach().numpy(), 2.0, (5, 3, 4), "float32", first=7)
    assert_same_bits(made, whole)
    assert_same_bits(NAMED.integers(5, size=(2, 3), dtype=torch.uint8), NAMED.elements.integers(5, size=(2, 3), dtype="uint8"))
    assert NAMED.normal(5, 2).shape == () and NAMED.normal(5, 2).item() == NAMED.elements.normal(5, 2)
    with pytest.raises(TypeError):
        NAMED.normal(0, 1, 5, torch.bfloat16)
    with pytest.raises(TypeError):
        NAMED.normal(0, 1, out=torch.empty(5))


def test_numbers_with_parameters_leave_a_compiled_program():
    compiled = torch.compile(lambda noise, rates: noise.poisson(rates) + 1, backend="eager")
    rates = torch.linspace(0.1, 9, 100)
    assert_same_bits(compiled(NAMED, rates), NAMED.elements.poisson(rates.numpy()) + 1)


class Noisy(torch.utils.data.Dataset):
    """An item is its number with noise that depends on this number alone."""

    def __len__(self):
        return 40

    def __getitem__(self, number):
        return number + Elements(2026, "3/0/17").standard_normal(8, first=8 * number)


@pytest.mark.parametrize("workers", [0, 1, 3])
def test_the_workers_of_a_data_loader_do_not_matter(workers):
    loader = torch.utils.data.DataLoader(Noisy(), batch_size=7, num_workers=workers)
    expected = np.arange(40, dtype="float32")[:, None] + numbers_of_the_cpu("standard_normal", (40, 8))
    assert_same_bits(torch.cat(list(loader)), expected)


def compiled_whole(call):
    """One program, without a part that Python runs, and how often it was compiled."""
    if shutil.which(os.environ.get("CXX", "g++")) is None:
        pytest.skip("torch.compile needs a C++ compiler")
    torch._dynamo.reset()
    counter = CompileCounterWithBackend("inductor")
    return torch.compile(call, fullgraph=True, backend=counter), counter


@kinds
def test_a_compiled_function_makes_the_same_bits(kind):
    compiled, counter = compiled_whole(lambda elements, length, first: made(kind, length, elements, first=first))
    for first in (0, 7, 100_001, 2**40 + 3, 2**63 - 1000):
        for seed in (2026, 5):
            numbers = compiled(Elements(seed, "3/0/17"), 1000 + first % 10, first)
            assert_same_bits(numbers, numbers_of_the_cpu(kind, 1000 + first % 10, first, seed=seed))
    # One program for the first numbers, and one for all others.
    assert counter.frame_count == 2
    with pytest.raises(ValueError, match="first"):
        compiled(Elements(5), 1000, -7)


@kinds
def test_a_compiled_block_is_the_slice_of_the_whole(kind):
    of = (40, 32, 48)
    compiled, counter = compiled_whole(lambda row, column: made(kind, (5, 6, 7), NAMED, at=(row, 7, column), of=of))
    whole = numbers_of_the_cpu(kind, of)
    for row, column in ((3, 16), (30, 11), (7, 41)):
        assert_same_bits(compiled(row, column), np.ascontiguousarray(whole[row : row + 5, 7:13, column : column + 7]))
    assert counter.frame_count == 2


def test_a_compiled_model_takes_the_step_as_the_index():
    def noisy(x, noise, step):
        first = step * x.numel()
        is_kept = noise.random(x.shape, first=first) >= 0.5
        return torch.where(is_kept, x + noise.standard_normal(x.shape, first=first), 0)

    compiled, counter = compiled_whole(noisy)
    x = torch.arange(300, dtype=torch.float32).reshape(3, 100)
    for step in range(20):
        uniform, normal = (numbers_of_the_cpu(kind, (3, 100), step * 300) for kind in ("random", "standard_normal"))
        assert_same_bits(compiled(x, NAMED, step), np.where(uniform >= 0.5, x.numpy() + normal, np.float32(0)))
    # The steps 0 and 1 may have programs of their own.
    assert counter.frame_count <= 3


def test_a_seed_sequence_is_the_same_name():
    sequence = np.random.SeedSequence(2026, spawn_key=(3, 0, 17))
    assert_same_bits(made("random", 100, Elements(sequence)), numbers_of_the_cpu("random", 100))


def test_wrong_arguments_are_refused():
    elements = Elements(5)
    for error, call in [
        (TypeError, lambda: elements.random(10, torch.int32)),
        (TypeError, lambda: elements.bits(10, torch.float32)),
        (TypeError, lambda: Elements(1.5)),
        (TypeError, lambda: Elements(np.random.SeedSequence(5), path=1)),
        (ValueError, lambda: elements.random(-1)),
        (ValueError, lambda: elements.random(2, first=2**64 - 1)),
        (ValueError, lambda: elements.random((2, 2), at=(0, 0))),
        (ValueError, lambda: elements.random((2, 2), at=(9, 9), of=(10, 10))),
    ]:
        with pytest.raises(error):
            call()


def test_the_program_of_the_document_runs():
    (program,) = programs_of("docs/how-to/accelerators.md")["PyTorch"]
    names = {}
    exec(compile(program, "document", "exec"), names)  # noqa: S102
    assert_same_bits(names["x"], numbers_of_the_cpu("random", (1000, 1000)))
    assert_same_bits(names["y"], numbers_of_the_cpu("standard_normal", 1000, 7000))
    assert_same_bits(torch.cat(names["batches"]), numbers_of_the_cpu("random", (40, 8)))
