"""Errors for unknown keyword arguments that name the right one."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from difflib import get_close_matches
from typing import ParamSpec, TypeVar

P = ParamSpec("P")
T = TypeVar("T")


def named(**others: str) -> Callable[[Callable[P, T]], Callable[P, T]]:
    """Returns a decorator by which a `TypeError` for an unknown keyword names the parameter that was probably meant.

    `others` holds names of other programs, such as options of the command line, and the parameter for each.
    """

    def decorate(function: Callable[P, T]) -> Callable[P, T]:
        known = list(inspect.signature(function).parameters)

        @functools.wraps(function)
        def call(*args: P.args, **kwargs: P.kwargs) -> T:
            for name in kwargs:
                if name not in known:
                    raise TypeError(_sentence(function.__name__, name, known, others))
            return function(*args, **kwargs)

        return call

    return decorate


def _sentence(function: str, name: str, known: list[str], others: dict[str, str]) -> str:
    near = get_close_matches(name, [*known, *others], 1)
    meant = others.get(name) or (others.get(near[0], near[0]) if near else None)
    hint = f"use {meant}" if meant else f"the parameters are {', '.join(known)}"
    return f"{function}() got an unexpected keyword argument {name!r}; {hint}"
