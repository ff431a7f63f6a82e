"""Arrays of JAX with the bits of the CPU's `Elements`."""

import os

# Eight devices, before JAX looks for them.
os.environ["XLA_FLAGS"] = os.environ.get("XLA_FLAGS", "") + " --xla_force_host_platform_device_count=8"

import numpy as np
import pytest
from conftest import COLUMNS, DEVICE_KINDS, assert_same_bits, check_columns, numbers_of_the_cpu, programs_of

jax = pytest.importorskip("jax")
from wellspring import jax as ours  # noqa: E402
from wellspring.jax import Elements  # noqa: E402

jnp, P = jax.numpy, jax.sharding.PartitionSpec

kinds = pytest.mark.parametrize("kind", DEVICE_KINDS)


def made(kind, size, elements=None, **keywords):
    method, dtype = DEVICE_KINDS[kind]
    return getattr(elements or Elements(2026, "3/0/17"), method)(size, dtype, **keywords)


@pytest.fixture(autouse=True)
def wide_types():
    """64-bit types are on, but where a test turns them off."""
    with jax.enable_x64(True):
        yield


@kinds
def test_the_bits_are_those_of_the_cpu(kind):
    assert_same_bits(made(kind, 10**6), numbers_of_the_cpu(kind, 10**6))


def text_for(platform):
    """The program that JAX hands to the compiler of a platform."""
    program = jax.jit(lambda noise: noise.standard_normal(30)).trace(Elements(5))
    return program.lower(lowering_platforms=(platform,)).as_text()


def test_a_cpu_calls_the_native_code_and_a_device_does_not():
    assert "@wellspring_elements" in text_for("cpu") and "while" not in text_for("cpu")
    assert "@wellspring_elements" not in text_for("cuda") and "while" in text_for("cuda")


def check_both_ways(kind, size, **where):
    native = np.asarray(made(kind, size, **where))
    ours._elements.clear_cache()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(ours, "_HAS_NATIVE", False)
        assert_same_bits(made(kind, size, **where), native)
    ours._elements.clear_cache()


# A program for a device is compiled for each kind, shape and remainder of the index, in about a second, for normal numbers in
# three.
@kinds
def test_the_operations_for_devices_and_the_native_code_give_the_same_bits(kind):
    check_both_ways(kind, 10**6)


@pytest.mark.heavy
@kinds
@pytest.mark.parametrize("place", [{"first": 7}, {"first": 2**64 - 300}, {"at": (3, 7, 11), "of": (40, 32, 48)}])
def test_both_ways_give_the_same_bits_at_any_place(kind, place):
    check_both_ways(kind, (5, 6, 7), **place)


@pytest.mark.heavy
@kinds
def test_the_bits_of_many_elements_are_those_of_the_cpu(kind):
    length = 5 * 10**6
    for first in range(0, 10**8, length):
        assert_same_bits(made(kind, length, first=first), numbers_of_the_cpu(kind, length, first))


@kinds
@pytest.mark.parametrize("first", [1, 15, 2**32 - 8, 2**36 - 3, 2**63 - 5, 2**64 - 30])
def test_the_first_index_may_be_any(kind, first):
    expected = numbers_of_the_cpu(kind, (10, 3), first)
    assert_same_bits(made(kind, (10, 3), first=first), expected)


@pytest.mark.parametrize("kind", ["random", pytest.param("standard_normal float64", marks=pytest.mark.heavy)])
def test_the_first_index_may_be_traced(kind):
    with jax.enable_x64("float64" in kind):
        traced = jax.jit(lambda first: made(kind, 30, first=first))
        for first in (0, 7, 2**31 - 1):
            assert_same_bits(traced(first), numbers_of_the_cpu(kind, 30, first))


def check_block(kind, at, shape, traced):
    place = {"at": at, "of": (40, 32, 48)}
    expected = numbers_of_the_cpu(kind, shape, **place)
    if traced:
        given = jax.jit(lambda at: made(kind, shape, at=at, of=place["of"]))(tuple(map(jnp.int32, at)))
    else:
        given = made(kind, shape, **place)
    assert_same_bits(given, expected)


BLOCKS = [((3, 7, 11), (5, 6, 7)), ((3, 16, 32), (10, 8, 16)), ((0, 5, 0), (40, 3, 48)), ((1, 2, 3), (0, 2, 2))]


@pytest.mark.parametrize(("at", "shape"), BLOCKS)
def test_a_block_is_the_slice_of_the_whole(at, shape):
    check_block("random", at, shape, traced=False)


@pytest.mark.heavy
@pytest.mark.parametrize(("at", "shape"), BLOCKS)
@pytest.mark.parametrize("kind", ["random", "random float64", "standard_normal"])
@pytest.mark.parametrize("traced", [False, True])
def test_a_block_is_the_slice_of_the_whole_for_more_kinds(kind, at, shape, traced):
    check_block(kind, at, shape, traced)


@pytest.mark.parametrize("method", COLUMNS)
def test_the_number_at_a_place_has_the_parameters_there(method):
    check_columns(Elements(2026, "3/0/17"), method, jnp.asarray)
    check_columns(Elements(2026, "3/0/17"), method, lambda numbers: numbers.tolist())


def test_numbers_with_parameters_are_rounded_where_types_of_64_bits_are_off():
    noise, rates = Elements(2026, "3/0/17"), np.linspace(0.1, 9, 100)
    with jax.enable_x64(False):
        assert_same_bits(noise.gamma(rates), noise.elements.gamma(rates).astype("float32"))
        assert_same_bits(noise.poisson(rates), noise.elements.poisson(rates).astype("int32"))
        with pytest.raises(TypeError, match="jax_enable_x64"):
            noise.poisson(1e12, 5)


def test_numbers_with_parameters_inside_of_a_program_say_what_to_write():
    noise, rates = Elements(5), jnp.ones(7)
    for call in (
        lambda: jax.jit(lambda noise: noise.poisson(4.0, 7))(noise),
        lambda: jax.jit(lambda rates: noise.poisson(rates))(rates),
        lambda: jax.jit(lambda first: noise.poisson(4.0, 7, first=first))(7),
        lambda: jax.vmap(lambda rate: noise.poisson(rate))(rates),
        lambda: jax.tree.map(lambda key: key, noise).poisson(4.0),
    ):
        with pytest.raises(TypeError, match="make the array outside"):
            call()
    # What the program knows is made once, when it is compiled.
    known = jax.jit(lambda x: x + noise.poisson(4.0, 7))(jnp.zeros(7, "int64"))
    assert_same_bits(known, noise.elements.poisson(4.0, 7))


def check_mesh(kind, mesh_shape):
    """Each device makes its own block, under 32-bit types as well."""
    devices = np.array(jax.devices("cpu")[: mesh_shape[0] * mesh_shape[1]]).reshape(mesh_shape)
    mesh = jax.sharding.Mesh(devices, ("rows", "columns"))
    of = (48, 96)
    size = tuple(length // count for length, count in zip(of, mesh_shape, strict=True))

    def own_block(noise):
        at = [jax.lax.axis_index(axis) * length for axis, length in zip(mesh.axis_names, size, strict=True)]
        return made(kind, size, noise, at=at, of=of)

    with jax.enable_x64(False):
        # The loops of normal numbers run another number of times on each device.
        shards = jax.shard_map(own_block, mesh=mesh, in_specs=P(), out_specs=P("rows", "columns"), check_vma=False)
        assert_same_bits(jax.jit(shards)(Elements(2026, "3/0/17")), numbers_of_the_cpu(kind, of))
        sharding = jax.NamedSharding(mesh, P("rows", "columns"))
        whole = jax.jit(lambda: made(kind, of), out_shardings=sharding)()
    assert len(whole.sharding.device_set) == devices.size
    assert_same_bits(whole, numbers_of_the_cpu(kind, of))


@pytest.mark.parametrize("mesh_shape", [(8, 1), (2, 4)])
def test_the_mesh_does_not_matter(mesh_shape):
    check_mesh("random", mesh_shape)


@pytest.mark.heavy
@pytest.mark.parametrize("kind", ["uint32", "random", "standard_normal"])
@pytest.mark.parametrize("mesh_shape", [(1, 8), (2, 4), (3, 2)])
def test_the_mesh_does_not_matter_for_more_kinds(kind, mesh_shape):
    check_mesh(kind, mesh_shape)


def test_vmap_takes_many_paths():
    paths = [(3, replica) for replica in range(5)]
    several = jax.tree.map(lambda *keys: jnp.stack(keys), *(Elements(2026, path) for path in paths))
    rows = jax.vmap(lambda elements: made("standard_normal", 1000, elements))(several)
    for row, path in zip(rows, paths, strict=True):
        assert_same_bits(row, numbers_of_the_cpu("standard_normal", 1000, path=path))


@kinds
def test_vmap_takes_many_indices_for_each_of_many_paths(kind):
    paths, firsts = [(3, 0), (3, 1)], [0, 5, 2**40]
    several = jax.tree.map(lambda *keys: jnp.stack(keys), *(Elements(2026, path) for path in paths))

    def rows(elements):
        return jax.vmap(lambda first: made(kind, (2, 5), elements, first=first))(jnp.array(firsts))

    for given, path in zip(jax.jit(jax.vmap(rows))(several), paths, strict=True):
        for row, first in zip(given, firsts, strict=True):
            assert_same_bits(row, numbers_of_the_cpu(kind, (2, 5), first, path=path))


def test_the_noise_of_a_loss_has_no_gradient():
    loss = jax.jit(jax.grad(lambda x, noise, i: (x * noise.random(5, first=i)).sum()))
    assert_same_bits(loss(jnp.ones(5, "float32"), Elements(2026, "3/0/17"), 7), numbers_of_the_cpu("random", 5, 7))


def test_what_the_native_code_refuses_is_an_error():
    call = jax.ffi.ffi_call("wellspring_elements", jax.ShapeDtypeStruct((7,), "float32"))
    for plan in ([1, 8], [9, 7], [1], [1, 7, 2, 16], [1, 2**40, 2**40, 1]):
        with pytest.raises(jax.errors.JaxRuntimeError, match="wellspring: "):
            call(jnp.zeros(8, "uint32"), jnp.int64(0), plan=np.array(plan, np.int64)).block_until_ready()
    with pytest.raises(jax.errors.JaxRuntimeError, match="above"):
        call(jnp.zeros(8, "uint32"), jnp.int64(-5), plan=np.array([1, 7], np.int64)).block_until_ready()


def test_the_text_has_the_algorithm_the_seed_and_the_path():
    sequence = np.random.SeedSequence(2026, spawn_key=(3, 0))
    for elements in (Elements(2026, "3/0"), Elements(sequence)):
        assert repr(elements) == "<of JAX: chacha8, seed 2026, path (3, 0)>"
    inside = []
    jax.jit(lambda noise: inside.append(repr(noise)) or noise.random(2))(Elements(5))
    assert inside == ["<of JAX: chacha8, inside of a program>"]


def test_a_loop_on_the_device_takes_its_step_as_the_index():
    def walk(noise):
        def step(x, i):
            return x + noise.standard_normal(100, "float64", first=i * 100), None

        return jax.lax.scan(step, jnp.zeros(100), jnp.arange(50))[0]

    steps = numbers_of_the_cpu("standard_normal float64", (50, 100))
    expected = np.zeros(100)
    for step in steps:
        expected = expected + step
    assert_same_bits(jax.jit(walk)(Elements(2026, "3/0/17")), expected)


def test_a_seed_sequence_is_the_same_name():
    sequence = np.random.SeedSequence(2026, spawn_key=(3, 0, 17))
    assert_same_bits(made("random", 100, Elements(sequence)), numbers_of_the_cpu("random", 100))


def test_wrong_arguments_are_refused():
    elements = Elements(5)
    for error, call in [
        (TypeError, lambda: elements.random(10, "int32")),
        (TypeError, lambda: elements.bits(10, "float32")),
        (TypeError, lambda: Elements(1.5)),
        (TypeError, lambda: Elements(np.random.SeedSequence(5), path=1)),
        (ValueError, lambda: elements.random(-1)),
        (ValueError, lambda: elements.random(2, first=2**64 - 1)),
        (ValueError, lambda: elements.random((2, 2), at=(0, 0))),
        (ValueError, lambda: elements.random((2, 2), at=(9, 9), of=(10, 10))),
    ]:
        with pytest.raises(error):
            call()
    with jax.enable_x64(False), pytest.raises(TypeError, match="jax_enable_x64"):
        elements.random(10, "float64")


def test_the_program_of_the_document_runs():
    (program,) = programs_of("docs/how-to/accelerators.md")["JAX"]
    names = {}
    with jax.enable_x64(False):
        exec(compile(program, "document", "exec"), names)  # noqa: S102
    assert_same_bits(names["x"], numbers_of_the_cpu("random", (1000, 1000)))
    assert_same_bits(names["y"], numbers_of_the_cpu("standard_normal", 1000, 7000))
    assert_same_bits(names["z"][2], numbers_of_the_cpu("standard_normal", 1000, path=(3, 2)))
    assert_same_bits(names["split"], numbers_of_the_cpu("random", names["whole"]))
