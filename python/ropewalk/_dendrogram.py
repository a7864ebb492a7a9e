"""The dendrogram of single linkage, drawn with scipy and matplotlib."""

from __future__ import annotations

from typing import Any

import numpy as np

from ropewalk._optional import optional

#: The blue of Okabe and Ito (2008), which colour-blind people can distinguish from other colours of theirs.
_BLUE = "#0072b2"


def dendrogram(linkage: Any, ax: Any = None, *, most: int = 50) -> Any:
    """Draws a single-linkage tree with scipy and matplotlib, without names of leaves.

    Parameters
    ----------
    linkage : array of shape (n - 1, 4), or an estimator with ``single_linkage_tree_``
        The merges in the format of `scipy.cluster.hierarchy`.

    ax : matplotlib.axes.Axes, optional

    most : int
        The number of branches to draw: those that merge last. Smaller branches are condensed.

    Returns
    -------
    matplotlib.axes.Axes

    Examples
    --------
    >>> import ropewalk
    >>> points = ropewalk.sample.mock_halos(500, seed=1)
    >>> ax = ropewalk.plot.dendrogram(ropewalk.linkage(points), most=20)
    >>> ax.figure.savefig("dendrogram.png")  # doctest: +SKIP
    """
    hierarchy = optional("scipy.cluster.hierarchy", "a dendrogram")
    tree = np.asarray(getattr(linkage, "single_linkage_tree_", linkage), np.float64)
    if tree.ndim != 2 or tree.shape[1] != 4:
        raise ValueError(f"linkage has the shape {tree.shape}; it must be (n - 1, 4), as in scipy")
    if ax is None:
        _, ax = optional("matplotlib.pyplot", "a dendrogram").subplots(layout="constrained")
    hierarchy.dendrogram(
        tree, ax=ax, p=most, truncate_mode="lastp", no_labels=True, color_threshold=0, above_threshold_color=_BLUE
    )
    ax.set_ylabel("distance at which branches join")
    ax.set_xlabel("branches")
    return ax
