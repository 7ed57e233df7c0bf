"""All eigenvalues and eigenvectors of a small symmetric tridiagonal matrix, compiled."""

from typing import no_type_check

import numpy as np
from numba import njit

from cellformer.lifting.searches.growing_arrays import copy_to

_SWEEPS = 40  # of one eigenvalue; two are the rule


@njit(cache=True, error_model="numpy")
@no_type_check
def tridiagonal_eigenvectors(diagonal, off):
    """Ascending values, the eigenvectors as rows, and whether the iteration converged.

    ``off[i]`` couples i and i + 1. The implicit QL method (Bowdler, Martin, Reinsch, Wilkinson,
    "The QR and QL algorithms for symmetric matrices", Numerische Mathematik 11, 1968).
    """
    n = len(diagonal)
    d = diagonal.copy()
    e = np.zeros(n)
    copy_to(e, 0, off[: n - 1])
    z = np.eye(n)
    for low in range(n):
        for sweep in range(_SWEEPS + 1):
            m = low
            while m < n - 1:
                scale = abs(d[m]) + abs(d[m + 1])
                if abs(e[m]) <= 1.2e-16 * scale:
                    break
                m += 1
            if m == low:
                break
            if sweep == _SWEEPS:
                return d, z, False
            g = (d[low + 1] - d[low]) / (2.0 * e[low])
            r = np.hypot(g, 1.0)
            g = d[m] - d[low] + e[low] / (g + (r if g >= 0 else -r))
            s = 1.0
            c = 1.0
            p = 0.0
            i = m - 1
            while i >= low:
                f = s * e[i]
                b = c * e[i]
                r = np.sqrt(f * f + g * g)
                e[i + 1] = r
                if r == 0.0:
                    d[i + 1] -= p
                    e[m] = 0.0
                    break
                s = f / r
                c = g / r
                g = d[i + 1] - p
                r = (d[i] - g) * s + 2.0 * c * b
                p = s * r
                d[i + 1] = g + p
                g = c * r - b
                for k in range(n):
                    f = z[i + 1, k]
                    z[i + 1, k] = s * z[i, k] + c * f
                    z[i, k] = c * z[i, k] - s * f
                i -= 1
            if i >= low:
                continue
            d[low] -= p
            e[low] = g
            e[m] = 0.0
    order = np.argsort(d)
    return d[order], z[order], True
