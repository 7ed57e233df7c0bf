"""What a spawned preparation process does before anything else. Imports nothing heavy."""

import os

from cellformer.basics.stopping import obey_parent


def start_worker() -> None:
    """One thread of linear algebra per process, and gone with its parent."""
    for library in ("OMP_NUM", "OPENBLAS_NUM", "MKL_NUM", "NUMBA_NUM", "VECLIB_MAXIMUM"):
        os.environ[f"{library}_THREADS"] = "1"
    obey_parent()
