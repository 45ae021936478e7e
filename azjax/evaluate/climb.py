"""A player -> how far it climbs the textbook's ladder: rollouts that get stronger whenever they lose every game."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import jax

from azjax.config import LadderConfig, require_in_bounds
from azjax.evaluate.arena import MatchResult, play_match
from azjax.players import Player, rollout_player
from envs.core import Game


class Rung(NamedTuple):
    """One match of the ladder."""

    simulations: int  # of the opponent's moves
    result: MatchResult  # as the player sees it


def climb(
    game: Game,
    player: Player,
    ladder: LadderConfig,
    *,
    key: jax.Array,
    report: Callable[[Rung], None] = lambda rung: None,
) -> list[Rung]:
    """The matches up to the first that the player has not won in full, or to the top. Consumes the key.

    Games begin at the start, and differ as far as the random playouts make them. `report` is told of every match.
    Raises ValueError for an impossible ladder, before any game.
    """
    require_ladder(ladder)
    rungs: list[Rung] = []
    for simulations in range(ladder.first, ladder.most + 1, ladder.step):
        opponent = rollout_player(game, simulations)
        match_key = jax.random.fold_in(key, simulations)
        result = play_match(game, player, opponent, games=ladder.games, key=match_key, opening_plies=0)
        rungs.append(Rung(simulations, result))
        report(rungs[-1])
        if result.wins < result.games:
            break
    return rungs


def require_ladder(ladder: LadderConfig) -> None:
    """Raises ValueError, naming what may be, for a ladder that cannot be climbed."""
    require_in_bounds(ladder)
    if ladder.most < ladder.first:
        raise ValueError(f"most={ladder.most} simulations is below the ladder's first={ladder.first}")
