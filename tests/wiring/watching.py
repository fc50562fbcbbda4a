"""A watch at the noise door: what reaches it in a whole release, and at which scale.

Nothing random happens while it stands: noise is zero and a selection takes the largest. Given
answers, those of an earlier release or ones that noise makes once in an age, it gives them, so
that what is compared between two tables is what each step computes *given what the steps
before let out*.
"""

import sys
from dataclasses import dataclass, field

import numpy as np

# All that draws must be loaded before it is watched.
import dpcov.mechanisms.covariance
import dpcov.mechanisms.strongest_pairs  # noqa: F401
from dpcov.mechanisms import noise
from dpcov.mechanisms.learning import lengths

MOST_DRAWS = 100  # more than twice what any release needs
HUGE = 1 << 62  # a sum that no rows make, and that floats and 64-bit integers still hold


class EndlessError(Exception):
    """A release draws again and again."""


@dataclass
class Draw:
    """One passage: exact numbers, the scale that the sampler was given, and the answer."""

    kind: str
    exact: np.ndarray
    count: int = 0
    scales: list = field(default_factory=list)  # one for each time that noise was drawn
    sizes: list = field(default_factory=list)
    answer: np.ndarray | None = None

    @property
    def is_whole(self):
        """Whether noise was drawn once, for every number."""
        return len(self.scales) == 1 and self.sizes == [len(self.exact)]

    def extreme(self, sign, last):
        """Return another answer: numbers far below or above, or 0; the last places or the first."""
        if self.kind == "gaussian":
            return np.full(len(self.exact), sign * HUGE, dtype=np.int64)
        return np.arange(self.count) + (len(self.exact) - self.count if last else 0)


class Watch:
    """Stands at the door from `stand` until the monkeypatch is undone."""

    def __init__(self):
        self.draws, self._answers = [], None
        self._add_noise = noise.add_noise

    def stand(self, monkeypatch):
        """Take the place of both ways out, in every module that knows them."""
        self._add_noise = noise.add_noise
        # Tables here are small and their epsilon large: a radius beyond all rows would be free,
        # and nothing left beyond it. tests/mechanisms/learning/test_lengths.py looks at that.
        monkeypatch.setattr(lengths, "free_squared_norm", lambda *_, **__: 0.0)
        monkeypatch.setattr(noise, "draw_rounded_gaussian", self._sampled)
        spies = {
            "add_noise": (noise.add_noise, self._add),
            "select_largest": (noise.select_largest, self._select),
        }
        ours = [m for name, m in list(sys.modules.items()) if name.startswith("dpcov.")]
        for module in ours:
            for name, (original, spy) in spies.items():
                if vars(module).get(name) is original:
                    monkeypatch.setattr(module, name, spy)
        return self

    def begin(self, answers=None):
        """Forget what passed; from now on give these answers, or none."""
        self.draws, self._answers = [], answers

    def _answered(self, fresh):
        draw = self.draws[-1]
        known = self._answers is not None and len(self.draws) <= len(self._answers)
        answer = self._answers[len(self.draws) - 1].copy() if known else fresh
        # Where steps were left out, the answer is that of another step; an audit counts draws.
        draw.answer = answer if len(answer) == len(fresh) else fresh
        return draw.answer

    def _pass(self, draw):
        if len(self.draws) == MOST_DRAWS:
            raise EndlessError
        self.draws.append(draw)

    def _sampled(self, scale, size, stream):
        self.draws[-1].scales.append(scale)
        self.draws[-1].sizes.append(size)
        return np.zeros(size, dtype=np.int64)

    def _add(self, sums, scale, stream):
        self._pass(Draw("gaussian", np.array(sums)))
        return self._answered(self._add_noise(sums, scale, stream))

    def _select(self, scores, *, count, scale, stream):
        exact = np.concatenate(list(scores())).astype(np.int64)
        if count >= len(exact):
            return np.arange(len(exact))  # all of them: nothing is chosen
        self._pass(Draw("selection", exact, count, [scale], [len(exact)]))
        return self._answered(np.sort(np.argsort(-exact, kind="stable")[:count]))
