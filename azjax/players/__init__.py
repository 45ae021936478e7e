"""Anything that picks a move: for a batch of games at once, or thinking about one position; a trained network is both.

Each module imports only from above it:

batched     players of a batch of games: search, raw network, rollouts, solver, random
thinkers    players that think about one position, and say what they expect
trained     a trained network: evaluates, searches, plays, thinks
own         a player of one's own by its name
gtp         programs that speak the Go Text Protocol
"""

from azjax.players.batched import (
    Act,
    Player,
    random_player,
    raw_network_player,
    rollout_player,
    search_player,
    solver_player,
)
from azjax.players.thinkers import Thinker, Thought, as_thinker, rollout_thinker, search_thinker, solver_thinker
from azjax.players.trained import Analysis, TrainedNetwork

__all__ = [
    "Act",
    "Analysis",
    "Player",
    "Thinker",
    "Thought",
    "TrainedNetwork",
    "as_thinker",
    "random_player",
    "raw_network_player",
    "rollout_player",
    "rollout_thinker",
    "search_player",
    "search_thinker",
    "solver_player",
    "solver_thinker",
]
