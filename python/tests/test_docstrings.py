"""Docstrings: each public name documents its parameters and results, and has an example (which the doctests run)."""

from __future__ import annotations

import doctest
import inspect
import re
import types
from collections.abc import Iterator
from typing import Any

import pytest
import ropewalk

HEADS = re.compile(r"^(\w[\w ]*)\n(-{3,})$", re.MULTILINE)


def members(name: str, value: Any) -> Iterator[tuple[str, Any]]:
    """Yields the public functions, methods and properties of a class or module, own and inherited, as users call them."""
    for own in getattr(value, "__all__", None) or dir(value):
        if not own.startswith("_") and (isinstance(value, types.ModuleType) or own in owned(value)):
            yield f"{name}.{own}", inspect.getattr_static(value, own)


def owned(value: type) -> set[str]:
    """Returns the names that classes of this package define."""
    return {own for base in value.__mro__ if base.__module__.startswith("ropewalk") for own in vars(base)}


def public() -> dict[str, Any]:
    found = {name: getattr(ropewalk, name) for name in ropewalk.__all__}
    for name, value in list(found.items()):
        if isinstance(value, (type, types.ModuleType)):
            found.update(members(name, value))
    return found


PUBLIC = public()
CALLED = {
    name: value for name, value in PUBLIC.items() if isinstance(value, (types.FunctionType, types.BuiltinFunctionType, classmethod))
}
#: All names except modules and the version, which is a string.
TOP = {name: value for name, value in PUBLIC.items() if not isinstance(value, (types.ModuleType, str)) and name.count(".") == 0}
TOP |= {name: value for name, value in PUBLIC.items() if name.startswith(("plot.", "sample."))}


def sections(value: Any) -> dict[str, str]:
    text = inspect.getdoc(value) or ""
    parts = HEADS.split(text)
    return {"": parts[0]} | dict(zip(parts[1::3], parts[3::3], strict=True))


def named(section: str) -> set[str]:
    """Returns the names that a section explains: those at the start of lines that are not indented."""
    heads = [line.partition(" : ")[0] for line in section.splitlines() if line and not line[0].isspace()]
    return {name.strip().lstrip("*") for head in heads for name in head.split(",")}


def parameters(value: Any) -> list[inspect.Parameter]:
    if isinstance(value, classmethod):
        value = value.__func__
    return [own for own in inspect.signature(value).parameters.values() if own.name not in ("self", "cls")]


@pytest.mark.parametrize("name", PUBLIC)
def test_it_has_a_sentence(name: str) -> None:
    if name.endswith(("set_fit_request", "feature_names_in_")):
        return
    value = PUBLIC[name]
    if isinstance(value, (type, types.ModuleType, *(type(v) for v in CALLED.values()), property)):
        first = sections(value)[""].strip()
        assert first.split("\n\n")[0].rstrip().endswith((".", ":")), f"{name}: {first!r}"


@pytest.mark.parametrize("name", CALLED)
def test_what_it_takes_is_explained(name: str) -> None:
    value, found = CALLED[name], sections(CALLED[name])
    own = [parameter.name for parameter in parameters(value)]
    explained = named(found.get("Parameters", ""))
    inherited = re.search(r"Parameters and errors are those of `\w+`", found[""])
    assert inherited or explained >= set(own), f"{name} does not explain {set(own) - explained}"
    assert inherited or explained <= set(own), f"{name} explains {explained - set(own)}, which it does not have"


@pytest.mark.parametrize("name", [name for name in TOP if name in CALLED])
def test_what_a_function_gives_is_explained(name: str) -> None:
    value = TOP[name]
    # Compiled functions have no annotations.
    annotation = None if isinstance(value, types.BuiltinFunctionType) else inspect.signature(value).return_annotation
    gives = name != "set_threads" if annotation is None else annotation != "None"
    assert ("Returns" in sections(value)) == gives, name


@pytest.mark.parametrize("name", [name for name, value in TOP.items() if isinstance(value, type)])
def test_a_class_explains_what_makes_it_or_what_it_has(name: str) -> None:
    value, found = TOP[name], sections(TOP[name])
    if issubclass(value, Exception):
        return
    own = {parameter.name for parameter in parameters(value)}
    made_by_user = "Parameters" in found
    assert made_by_user or "Attributes" in found, name
    if made_by_user:
        assert named(found["Parameters"]) == own, named(found["Parameters"]) ^ own


@pytest.mark.parametrize("name", TOP)
def test_it_has_an_example(name: str) -> None:
    assert ">>> " in sections(TOP[name]).get("Examples", ""), name


@pytest.mark.parametrize("name", [name for name, value in TOP.items() if isinstance(value, types.BuiltinFunctionType)])
def test_examples_of_compiled_functions_run(name: str) -> None:
    # Doctests are only collected from Python files.
    example = doctest.DocTestParser().get_doctest(inspect.getdoc(TOP[name]) or "", {}, name, None, None)
    assert doctest.DocTestRunner().run(example).failed == 0
    ropewalk.set_threads()
