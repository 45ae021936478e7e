"""Players of a user's own, one of each kind, loaded as `own_player:lowest` and `own_player:thinks`."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np

import azjax


def lowest(game):
    """A batch of games at once: always the first legal action."""

    def act(params, key, states):
        del params, key
        return jnp.argmax(jax.vmap(game.legal_action_mask)(states), axis=-1).astype(jnp.int32)

    return azjax.Player("lowest", act)


def thinks(game):
    """One position at a time, on the host: the first legal action, too."""

    def think(state, key):
        del key
        return azjax.Thought(int(np.argmax(game.legal_action_mask(state))), 0.25)

    return azjax.Thinker("thinks", think)


def cheats(game):
    """Never makes a legal move."""
    return azjax.Thinker("cheats", lambda state, key: azjax.Thought(int(np.argmin(game.legal_action_mask(state)))))


def nobody(game):
    """Not a player."""
    return str(game)
