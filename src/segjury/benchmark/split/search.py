"""Search for the split of exact sizes in which all parts are most alike.

With `x` the centred columns of a variable (see `Variable.blocks`) and `s_p` their sum over the
`n_p` cases of part p, the imbalance of a variable is

    I = Σ_p |s_p|² / n_p / ((K - 1) n / (n - 1))

over K parts of n cases, averaged over the variable's blocks. For levels that is Pearson's
chi-square, for a quantity the sum of squares between parts; a random split has I = 1 on average.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from itertools import combinations

import numpy as np

from segjury.arrays import Floats, Ints
from segjury.benchmark.split.variables import Variable

ROWS = 128  # groups of one part whose exchanges are looked at together
GAIN = 1e-10  # less is none


@dataclass(frozen=True)
class Task:
    """What is split: variables of cases, the groups these belong to, and the sizes of parts."""

    variables: tuple[Variable, ...]
    groups: Ints  # the group of each case, from 0
    sizes: tuple[int, ...]

    @cached_property
    def group_sizes(self) -> Ints:
        """The number of cases of each group."""
        return np.bincount(self.groups)

    @cached_property
    def columns(self) -> tuple[Floats, Ints]:
        """The columns of all variables summed over groups, scaled so that `|s_p|² / n_p` is I."""
        n, k = self.groups.size, len(self.sizes)
        columns, owner = [], []
        for v, variable in enumerate(self.variables):
            blocks = variable.blocks
            for block in blocks:
                columns.append(block * np.sqrt((n - 1) / n / (k - 1) / len(blocks)))
                owner += [v] * block.shape[1]
        if not columns:
            return np.zeros((self.group_sizes.size, 0)), np.zeros(0, np.int64)
        summed = np.zeros((self.group_sizes.size, len(owner)))
        np.add.at(summed, self.groups, np.hstack(columns))
        return summed, np.array(owner)

    def imbalance(self, parts: Ints) -> Floats:
        """I of each variable in splits given by the part of each group, (splits, variables)."""
        columns, owner = self.columns
        found = np.zeros((len(parts), len(self.variables)))
        for part, size in enumerate(self.sizes):
            sums = (parts == part).astype(np.float64) @ columns
            np.add.at(found.T, owner, (sums**2 / size).T)
        return found


def improve(task: Task, start: Ints, weights: Floats, rng: np.random.Generator) -> Ints:
    """Exchange groups of one size between parts while that lowers the weighted sum of imbalances.

    Exchanging i of part a for j of part b, with `d = x_j - x_i`, changes the sum by
    `2 d · (s_a / n_a - s_b / n_b) + |d|² (1 / n_a + 1 / n_b)`. The best exchange of each pair of
    parts is made in turn, among all, or of up to 128 groups of a with any of b.
    """
    plain, owner = task.columns
    columns = plain * np.sqrt(weights)[owner]
    parts = start.copy()
    sums = np.stack([columns[parts == part].sum(axis=0) for part in range(len(task.sizes))])
    turns = list(combinations(range(len(task.sizes)), 2))
    patience = len(turns) * (1 + parts.size // (2 * ROWS))
    idle = turn = 0
    while idle < patience:
        a, b = turns[turn % len(turns)]
        turn += 1
        swap = _best_exchange(task, columns, parts, sums, (a, b), rng)
        idle = 0 if swap else idle + 1
        if swap:
            i, j = swap
            parts[i], parts[j] = b, a
            sums[a] += columns[j] - columns[i]
            sums[b] -= columns[j] - columns[i]
    return parts


def _best_exchange(
    task: Task,
    columns: Floats,
    parts: Ints,
    sums: Floats,
    between: tuple[int, int],
    rng: np.random.Generator,
) -> tuple[int, int] | None:
    """The exchange between two parts that lowers the imbalance most, if one does."""
    a, b = between
    rows, others = np.flatnonzero(parts == a), np.flatnonzero(parts == b)
    if rows.size > ROWS:
        rows = np.sort(rng.choice(rows, ROWS, replace=False))
    mine, theirs = columns[rows], columns[others]
    slope = sums[a] / task.sizes[a] - sums[b] / task.sizes[b]
    apart = (mine**2).sum(axis=1)[:, None] + (theirs**2).sum(axis=1) - 2 * mine @ theirs.T
    change = 2 * ((theirs @ slope) - (mine @ slope)[:, None])
    change += apart * (1 / task.sizes[a] + 1 / task.sizes[b])
    change[task.group_sizes[rows][:, None] != task.group_sizes[others]] = np.inf
    change = np.round(change, 12)  # so that equal exchanges are equal on every machine
    best = int(change.argmin())
    i, j = divmod(best, others.size)
    return (int(rows[i]), int(others[j])) if change[i, j] < -GAIN else None
