"""Three sentences: what predicts the outcome, how certain that is, and what shares its probability."""

from .content import Stand
from .names import shortened

SURE = 0.95  # groups at least this probable are called nearly certain
LIKELY = 0.5  # groups less probable than this are not said to predict anything
NAMED = 3  # members of the panel with similar features that are named


def summary(stands: list[Stand], outcome: str, thing: str, always: bool = False) -> list[str]:
    """Summarise the result in sentences without statistics."""
    chosen = [stand for stand in stands if stand.chosen is not None]
    if not chosen and any(stand.probability >= LIKELY for stand in stands):
        return [f"Nothing was chosen, although some {thing}s probably predict {outcome}."]
    if not chosen:
        beyond = " beyond what is in every set" if always else ""
        return [f"No {thing} stands out as a predictor of {outcome}{beyond}: what looks like one may be chance."]
    likely = [stand for stand in chosen if stand.probability >= LIKELY]
    first = f"{_names(likely)} {'predicts' if len(likely) == 1 else 'together predict'} {outcome}." if likely else ""
    filled = [stand for stand in chosen if stand.probability < LIKELY]
    if filled:
        first += f" {_names(filled)} {'is' if len(filled) == 1 else 'are'} in the panel, but may be chance."
    return [first.strip(), _how_sure(chosen), _shared(chosen, thing)]


def _how_sure(chosen: list[Stand]) -> str:
    doubtful = [stand for stand in chosen if stand.probability < SURE]
    if not doubtful:
        that = (
            "it, or something just like it, is" if len(chosen) == 1 else "each of them, or something just like it, is"
        )
        return f"It is nearly certain that {that} needed."
    if len(doubtful) == len(chosen):
        return "None of this is certain: other sets explain the data about as well."
    sure = len(chosen) - len(doubtful)
    return (
        f"For {sure} of {len(chosen)} it is nearly certain that this one, or something just like it, is needed; less "
        f"so for {_names(doubtful)}."
    )


def _shared(chosen: list[Stand], thing: str) -> str:
    sharing = [stand for stand in chosen if stand.stand_ins]
    if not sharing:
        return f"No other {thing} is similar and shares {'its' if len(chosen) == 1 else 'their'} probability."
    said = [f"{shortened(str(stand.chosen), 30)} with {listed(stand.stand_ins)}" for stand in sharing[:NAMED]]
    more = f"; and {len(sharing) - NAMED} more" if len(sharing) > NAMED else ""
    what = "It shares its" if len(chosen) == 1 else "Some share their"
    return f"{what} probability with a similar {thing}: {'; '.join(said)}{more}."


def _names(stands: list[Stand]) -> str:
    return listed([str(stand.chosen) for stand in stands])


def listed(names: list[str], word: str = "and") -> str:
    """Join a few names for a sentence.

    >>> listed(["a", "b", "c"]), listed(["a"]), listed(list("abcdefgh"))
    ('a, b and c', 'a', 'a, b, c, d, e and 3 more')
    """
    shown = [shortened(name, 30) for name in (names[:5] if len(names) > 6 else names)]
    if len(shown) < len(names):
        return f"{', '.join(shown)} {word} {len(names) - len(shown)} more"
    return shown[0] if len(shown) == 1 else f"{', '.join(shown[:-1])} {word} {shown[-1]}"
