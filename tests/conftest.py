"""The tests' machine: four CPU devices, strict shapes and types, and a compilation cache that outlives the run."""

import os
from pathlib import Path

CACHE = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "azjax" / "tests"

# JAX reads these as it is imported. In the environment, they reach the processes that tests start, too.
os.environ.setdefault("JAX_PLATFORMS", "cpu")
os.environ["XLA_FLAGS"] = f"{os.environ.get('XLA_FLAGS', '')} --xla_force_host_platform_device_count=4".strip()
os.environ["JAX_NUMPY_RANK_PROMOTION"] = "raise"
os.environ["JAX_COMPILATION_CACHE_DIR"] = str(CACHE)
os.environ["JAX_COMPILATION_CACHE_MAX_SIZE"] = str(2**30)  # bounded means locked, too: parallel tests share the cache
os.environ["JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS"] = "0.2"

import jax  # noqa: E402
import jaxtyping  # noqa: E402
import pytest  # noqa: E402


@pytest.fixture(autouse=True, scope="module")
def no_programs_of_other_modules():
    """Frees what was compiled: with a thousand programs a process runs out of memory maps, and XLA crashes."""
    yield
    jax.clear_caches()


# From here on, importing azjax or envs has every annotated shape and type checked as the functions run.
jaxtyping.install_import_hook(["azjax", "envs"], "strict.check")
