"""The legend of a picture: in as many columns as its room has, and no wider."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from matplotlib.artist import Artist
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.legend import Legend

from segjury.wording import plain, wrapped

ABOVE_IN = 0.1  # room between the tiles and the legend
_LEAST_CHARACTERS = 4  # of a name, however narrow the room


@dataclass(frozen=True)
class PictureLegend:
    """Entries with their names and columns; `ground` is a colour on which its lines can be seen."""

    entries: tuple[Artist, ...]
    names: tuple[str, ...]
    columns: int
    ground: str
    ink: str

    @classmethod
    def fitted(
        cls,
        entries: Sequence[Artist],
        *,
        width_in: float,
        columns: int,
        ground: str = "white",
        ink: str = "black",
    ) -> PictureLegend:
        """The legend in at most so many columns; names too long for one lose their middle.

        Call it within `styled()`, as it measures the names.
        """
        names = tuple(plain(entry.get_label()) for entry in entries)
        legend = cls(tuple(entries), names, min(columns, len(names)), ground, ink)
        while legend.columns > 1 and legend.size_in[0] > width_in:
            legend = replace(legend, columns=legend.columns - 1)
        characters = max(map(len, names), default=0)
        while characters > _LEAST_CHARACTERS and (wide := legend.size_in[0]) > width_in:
            characters = min(characters - 1, int(characters * width_in / wide))
            short = (wrapped(name, width=characters, lines=1) for name in names)
            legend = replace(legend, names=tuple(short))
        return legend

    @property
    def size_in(self) -> tuple[float, float]:
        """Width and height."""
        if not self.entries:
            return 0.0, 0.0
        figure = Figure()
        extent = self.draw(figure, left_in=0).get_window_extent(
            FigureCanvasAgg(figure).get_renderer()
        )
        return extent.width / figure.dpi, extent.height / figure.dpi

    @property
    def below_in(self) -> float:
        """Height of the strip below the tiles that holds it."""
        return self.size_in[1] + ABOVE_IN if self.entries else 0.0

    def draw(self, figure: Figure, *, left_in: float) -> Legend:
        """The legend at the bottom of a figure."""
        legend = figure.legend(
            handles=list(self.entries),
            labels=list(self.names),
            loc="lower left",
            bbox_to_anchor=(left_in / figure.get_figwidth(), 0.0),
            borderaxespad=0.0,
            ncols=max(1, self.columns),
            fontsize=6.5,
            handlelength=2.4,
            columnspacing=1.2,
            facecolor=self.ground,
            labelcolor=self.ink,
            framealpha=1.0,
            fancybox=False,  # it ends at the figure's edge
        )
        legend.get_frame().set_linewidth(0)
        for text in legend.get_texts():
            text.set_parse_math(False)
        return legend
