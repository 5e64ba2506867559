"""How far to trust the result, in words that need no statistics."""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from ..diagnostics import HARDLY_ANY, Diagnostics
from ..inference import JOINS, Target
from ..likelihoods import QuadraticLikelihood
from ..selection import Selection
from ..types import IntArray

RARE = 0.2  # classes with a smaller share are unbalanced
FEW = 10  # rows in a class
OWN_WORDS = {"ConvergenceWarning", "EmptySelectionWarning"}  # warnings for which the page has its own text
WORDS = {"good": "fine", "fair": "fair", "poor": "take care"}


class Verdict(NamedTuple):
    """A question about the fit, its answer, and a grade ("good", "fair" or "poor")."""

    question: str
    answer: str
    grade: str

    @property
    def word(self) -> str:
        """The grade in words."""
        return WORDS[self.grade]


def verdicts(selection: Selection, found: Diagnostics) -> list[Verdict]:
    """Return questions about a fit with their answers."""
    exact = evidence_is_exact(selection.posterior.target)
    return [
        _known(found, exact),
        *_left_out(selection),
        _decided(selection),
        *_balanced(selection.class_counts),
    ]


def warnings_of(selection: Selection, found: list[Verdict], further: Sequence[str] = ()) -> list[str]:
    """Return what a reader must know first; empty if all is well."""
    said, expected = [], selection.posterior.inclusion_prob().sum()
    if not len(selection.chosen):
        said.append(
            f"The panel is empty: {why_empty(selection)}, though {expected:.1f} are expected in a set. "
            "Ask for a panel of a given size (--size, n_features_to_select), or read the "
            "probabilities only."
        )
    said += [verdict.answer for verdict in found if verdict.grade == "poor"]
    if expected < HARDLY_ANY:
        said.append("The data hardly support any feature: fewer than one is expected in a set.")
    return [*said, *further]


def why_empty(selection: Selection) -> str:
    """Return why no feature was chosen."""
    panel = selection.chosen_panel
    if selection.choose == "probability":
        return "no feature is supported well enough on its own"
    if panel.among.is_enough(panel.features):
        return "the model predicts next to nothing from the features"
    return "no feature that the budget allows is worth its price"


def further_lines(about: Mapping[str, Any], found: Diagnostics) -> list[str]:
    """Return the run's warnings (text, or {kind, text}) for which the page has no text of its own."""
    given = [line if isinstance(line, Mapping) else {"text": line} for line in about.get("warnings") or []]
    lines = [str(line.get("text")) for line in given if line.get("kind") not in OWN_WORDS]
    return [line for line in dict.fromkeys(lines) if line not in found.messages()]


def evidence_is_exact(target: Target) -> bool:
    """Whether chains need no approximate evidence: closed form, or auxiliary variables."""
    return all(isinstance(outcome, QuadraticLikelihood) and outcome.can_augment for outcome in target.outcomes)


def _known(found: Diagnostics, exact: bool = True) -> Verdict:
    question = "Are the probabilities accurate?"
    if found.largest_error == 0.0:
        return Verdict(question, "Yes: there are so few possible sets that all were enumerated.", "good")
    within = f"±{2 * found.largest_error:.2g} for the least certain, two Monte Carlo errors"
    if found.converged:
        if exact:
            return Verdict(question, f"Yes, computed without approximation, up to random error ({within}).", "good")
        close = "and the approximate evidence of each set (for survival and counts Laplace's method)"
        return Verdict(question, f"Yes, up to random error ({within}) {close}.", "good")
    answer = (
        f"Only up to a random error larger than requested: {within}. The computation stopped after "
        f"{found.n_iter:,} laps; allow more (max_iter)."
    )
    return Verdict(question, answer, "poor")


def _left_out(selection: Selection) -> list[Verdict]:
    certificate = selection.certificate
    if certificate is None:
        return []
    question, sentence = "Can a column that was left out matter?", certificate.sentence()
    if certificate.largest <= JOINS:
        return [Verdict(question, f"No: {sentence}.", "good")]
    return [Verdict(question, f"Perhaps: {sentence}. Start with more columns (--screen, screen).", "poor")]


def _decided(selection: Selection) -> Verdict:
    question = "Do the data single out this set?"
    probability, chosen = selection.posterior.inclusion_prob(), selection.chosen
    if not len(chosen):
        return Verdict(question, "No: no feature was chosen.", "fair")
    sure, n = int((probability[chosen] > 0.5).sum()), len(chosen)
    groups = [g for g in selection.groups if g.chosen is not None and g.probability > 0.5]
    stood_for = int(np.isin(chosen, np.concatenate([g.positions for g in groups])).sum()) if groups else 0
    if sure == n:
        return Verdict(question, "Yes: each chosen feature is in more than half of the plausible sets.", "good")
    if stood_for == n:
        answer = (
            f"Yes, up to stand-ins: each chosen feature, or one that can replace it, is in more than half of the "
            f"plausible sets. For {n - sure} of {n} it is open which one."
        )
        return Verdict(question, answer, "good")
    if not stood_for and probability.max(initial=0.0) < 0.5:
        answer = (
            "The data do not single out one set: no feature is in more than half of the plausible sets. Many other "
            "sets are nearly as good as the panel; do not read much into a single feature."
        )
        return Verdict(question, answer, "poor")
    answer = (
        f"Partly: {max(sure, stood_for)} of the {n} chosen features, or their stand-ins, are in more than "
        "half of the plausible sets."
    )
    return Verdict(question, answer, "fair")


def _balanced(counts: Mapping[str, int]) -> list[Verdict]:
    if not counts:
        return []
    question = "Are there enough rows of each class?"
    label, n = min(counts.items(), key=lambda pair: pair[1])
    share = n / max(sum(counts.values()), 1)
    shown = label if len(label) <= 40 else f"{label[:39]}…"
    if n < FEW or share < RARE / 2:
        answer = (
            f"The classes are unbalanced: only {n:,} rows ({share:.0%}) are “{shown}”. A high accuracy can come from "
            "always guessing the common class; AUC is not fooled by that."
        )
        return [Verdict(question, answer, "poor")]
    if share < RARE:
        return [Verdict(question, f"The rarest, “{shown}”, has {n:,} rows ({share:.0%}).", "fair")]
    return [Verdict(question, f"Yes: the rarest, “{shown}”, has {n:,} rows ({share:.0%}).", "good")]


def set_sizes(sets: Sequence[IntArray]) -> tuple[int, int]:
    """Return the sizes between which nine in ten plausible sets lie."""
    sizes = [len(S) for S in sets]
    low, high = np.quantile(sizes, [0.05, 0.95]) if sizes else (0, 0)
    return int(low), int(high)
