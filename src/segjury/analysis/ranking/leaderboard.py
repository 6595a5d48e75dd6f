"""The leaderboard: methods in order, with value and rank per metric."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pandas as pd

from segjury.analysis.ranking.panel import Panel
from segjury.analysis.ranking.schemes import ordered, standings
from segjury.arrays import Floats
from segjury.errors import InputError
from segjury.protocols.ranking import Ranking


@dataclass(frozen=True)
class Leaderboard:
    """Methods in order, with value and rank per metric; all frames share the method index.

    Columns of `values` and `ranks` are `dsc`, or `vi PORTA` for a metric of a structure.
    """

    reading: str
    values: pd.DataFrame
    ranks: pd.DataFrame
    mean_rank: pd.Series[float]
    sd_rank: pd.Series[float]
    position: pd.Series[int]
    metrics: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()

    @property
    def table(self) -> pd.DataFrame:
        """The form of `leaderboard.csv`: method, position, mean and SD of ranks, then metrics."""
        columns: dict[str, pd.Series[float] | pd.Series[int]] = {
            "position": self.position,
            "mean_rank": self.mean_rank,
            "sd_rank": self.sd_rank,
        }
        for key in self.values.columns:
            name = str(key).replace(" ", "_")
            clash = {name, f"rank_{name}"} & {"method", *columns}
            if clash:
                raise InputError(
                    f"a leaderboard would have two columns called '{clash.pop()}'",
                    f"Give the metric {key} another name",
                )
            columns[name] = self.values[key]
            columns[f"rank_{name}"] = self.ranks[key]
        return pd.DataFrame(columns).rename_axis("method").reset_index()


def board(scores: Panel, ranking: Ranking) -> Leaderboard:
    """The leaderboard of a panel of scores."""
    found = standings(scores, ranking)
    values, ranks = (
        pd.DataFrame(array[0].T, index=list(scores.methods), columns=list(scores.keys))
        for array in (found.values, found.ranks)
    )
    mean_rank = pd.Series(found.mean_rank[0], index=values.index)
    order = values.index[ordered(found.mean_rank[0])]
    return Leaderboard(
        reading=scores.reading,
        values=values.loc[order],
        ranks=ranks.loc[order],
        mean_rank=mean_rank[order],
        sd_rank=_spread(ranks, found.weights)[order],
        position=pd.Series(found.positions[0].astype(int), index=values.index)[order],
        metrics=scores.metrics,
        notes=scores.notes,
    )


def _spread(ranks: pd.DataFrame, weights: Floats) -> pd.Series[float]:
    """Population SD over the ranked scores, with the weights of their metrics."""
    shares = weights / weights.sum()
    mean = ranks.to_numpy() @ shares
    return pd.Series(np.sqrt((ranks.to_numpy() - mean[:, None]) ** 2 @ shares), index=ranks.index)
