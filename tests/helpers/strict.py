"""Checks annotated shapes and types as the functions run."""

import beartype
import beartype.roar


def check(function):
    """beartype, which cannot decorate what names a generic NamedTuple or a protocol that isn't runtime-checkable."""
    try:
        return beartype.beartype(function)
    except beartype.roar.BeartypeDecorHintPepException:
        return function
