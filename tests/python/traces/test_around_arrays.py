"""Python around the arrays: programs as scientists write them, and what of them stays in Python."""

import re

import pytest
import stator
from around.compare import flat
from around.programs import PROGRAMS

# Of these programs, something is left to Python: loops and generators over objects, other containers, text.
LEFT = {
    "any_and_all",
    "accumulated",
    "chained",
    "comprehension_over_rows",
    "counts_in_a_global",
    "dataclass_replaced",
    "default_dict_of_lists",
    "deque_of_states",
    "dict_of_arrays_walked",
    "formatted_message",
    "generator_function_consumed",
    "largest_by_key",
    "layers_forward",
    "linalg_error_raised",
    "list_of_arrays_grows",
    "local_class",
    "loop_over_generator_expression",
    "mapped",
    "max_of_generator",
    "message_in_f_string",
    "norms_of_rows",
    "ordered_layers",
    "own_context_manager",
    "pairs_of_layers",
    "product_of_offsets",
    "products_in_comprehension",
    "properties_and_class_methods",
    "reduced",
    "set_and_dict_of_generator",
    "sgd_in_place",
    "sorted_by_norm",
    "star_arguments",
    "sum_of_generator",
    "sum_over_list",
    "transposed_pairs",
}

PLAIN = [name for name in PROGRAMS if name not in LEFT]


def outcome(function, makers):
    arguments = [make() for make in makers]
    try:
        result = flat(function(*arguments))
    except Exception as error:  # noqa: BLE001
        result = repr(error)
    return result, flat(arguments)


def left_to_python(compiled, makers):
    text = str(stator.explain(compiled)(*[make() for make in makers]))
    text = text[text.index("stays in Python") :].split("\n\n")[0].split("\n  trace")[0].split("\n  region")[0]
    # Compilers may put what leaves a `with` behind a jump back, which is no loop.
    skipped = r"\s+(hint:|\d+ times)|.*: it never comes round"
    return [line for line in text.splitlines()[1:] if not re.match(skipped, line)] or ["    nothing"]


@pytest.mark.parametrize("name", PROGRAMS)
def test_same(name):
    function, makers = PROGRAMS[name]
    compiled = stator.compile(function)
    for _ in range(5):
        assert outcome(compiled, makers) == outcome(function, makers)


@pytest.mark.parametrize("name", PLAIN)
def test_nothing_stays_in_python(name):
    function, makers = PROGRAMS[name]
    compiled = stator.compile(function)
    for _ in range(3):
        outcome(compiled, makers)
    assert left_to_python(compiled, makers) == ["    nothing"]
