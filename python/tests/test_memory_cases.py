"""`memory_cases` has a case for each public name of the package, which `test_memory.py` calls under memory limits."""

from memory_cases import CASES, names


def test_each_public_name_has_a_case() -> None:
    assert sorted(set(names())) == sorted(CASES)
