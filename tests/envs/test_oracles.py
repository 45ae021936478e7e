"""Rules against implementations that are not ours: OpenSpiel at every ply of 1,000 random games, and move counts."""

from __future__ import annotations

import json

import jax
import jax.numpy as jnp
import numpy as np
import pyspiel
import pytest
from data import DATA

import envs
from envs.hex import Hex

NUM_GAMES = 1_000
COUNTS = json.loads((DATA / "perft.json").read_text())


def random_games(game: envs.Game):
    """The legal mask, the player to move, the action and its transition at every ply of 1,000 games: [time, game]."""

    def ply(state, key):
        mask = game.legal_action_mask(state)
        action = jax.random.categorical(key, jnp.where(mask, 0.0, -jnp.inf))
        next_state, transition = game.step(state, action)
        return next_state, (mask, state.player, action, transition)

    def play(key):
        return jax.lax.scan(ply, game.init(), jax.random.split(key, game.max_moves))[1]

    played = jax.jit(jax.vmap(play, out_axes=1))(jax.random.split(jax.random.key(1), NUM_GAMES))
    return jax.tree.map(np.asarray, played)


def openspiel_actions(game: envs.Game, player: int) -> np.ndarray:
    """What OpenSpiel calls our actions: the same, but that our second player of hex sees the board reflected."""
    actions = np.arange(game.num_actions)
    if isinstance(game, Hex) and player == 1:
        actions[: game.size**2] = actions[: game.size**2].reshape(game.size, game.size).T.ravel()
    return actions


@pytest.mark.parametrize(
    ("name", "settings", "oracle"),
    [
        ("tic_tac_toe", {}, "tic_tac_toe"),
        ("connect_four", {}, "connect_four"),
        ("connect_four", {"rows": 9, "columns": 5}, "connect_four(rows=9,columns=5)"),
        ("gomoku", {"size": 3, "in_row": 3}, "gomoku(size=3,connect=3)"),
        ("gomoku", {"size": 6, "in_row": 4}, "gomoku(size=6,connect=4)"),
        ("gomoku", {"size": 9}, "gomoku(size=9,connect=5)"),
        ("gomoku", {}, "gomoku(size=15,connect=5)"),
        pytest.param("gomoku", {"size": 19, "in_row": 6}, "gomoku(size=19,connect=6)", marks=pytest.mark.slow),
        ("dots_and_boxes", {"rows": 2, "columns": 3}, "dots_and_boxes(num_rows=2,num_cols=3)"),
        ("dots_and_boxes", {"rows": 3, "columns": 3}, "dots_and_boxes(num_rows=3,num_cols=3)"),
        ("othello", {}, "othello"),
        ("hex", {"size": 2, "swap": True}, "hex(board_size=2,swap=True)"),
        ("hex", {"size": 4}, "hex(board_size=4)"),
        ("hex", {"size": 11}, "hex(board_size=11)"),
        ("hex", {"size": 11, "swap": True}, "hex(board_size=11,swap=True)"),
        pytest.param("hex", {"size": 19}, "hex(board_size=19)", marks=pytest.mark.slow),
    ],
    ids=lambda value: value if isinstance(value, str) and "(" in value else None,
)
def test_openspiel(name, settings, oracle):
    game, reference = envs.make(name, **settings), pyspiel.load_game(oracle)
    masks, players, actions, transitions = random_games(game)
    theirs = [openspiel_actions(game, player) for player in (0, 1)]
    for lane in range(NUM_GAMES):
        state, outcome = reference.new_initial_state(), 0.0
        for ply in range(game.max_moves):
            player = players[ply, lane]
            assert player == state.current_player(), state
            assert sorted(theirs[player][masks[ply, lane]].tolist()) == state.legal_actions(), state
            outcome += transitions.reward[ply, lane] * (-1 if player else 1)
            state.apply_action(int(theirs[player][actions[ply, lane]]))
            assert transitions.terminated[ply, lane] == state.is_terminal(), state
            if state.is_terminal():
                break
        assert state.is_terminal()
        assert state.returns() == [outcome, -outcome], state


def move_counts(game: envs.Game, depth: int, chunk: int = 4096) -> list[int]:
    """How many sequences of 1, 2, ... `depth` moves there are; a finished game is not continued."""
    children = jax.jit(jax.vmap(jax.vmap(game.step, (None, 0)), (0, None)))
    masks = jax.jit(jax.vmap(game.legal_action_mask))
    actions = jnp.arange(game.num_actions)
    states, counts = jax.tree.map(lambda x: np.asarray(x)[None], game.init()), []
    for _ in range(depth):
        found = []
        for start in range(0, len(states.player), chunk):
            part = jax.tree.map(lambda x: x[start : start + chunk], states)  # noqa: B023
            size = len(part.player)
            padded = jax.tree.map(lambda x: np.resize(x, (chunk, *x.shape[1:])), part)
            legal = np.asarray(masks(padded)).copy()
            legal[size:] = False
            after, _ = children(padded, actions)
            found.append(jax.tree.map(lambda x: np.asarray(x)[legal], after))  # noqa: B023
        states = jax.tree.map(lambda *parts: np.concatenate(parts), *found)
        counts.append(len(states.player))
    return counts


@pytest.mark.parametrize(
    ("name", "counts"),
    [(name, counts) for name in COUNTS for start, counts in COUNTS[name] if start.startswith("start")],
    ids=str,
)
def test_move_counts(name, counts):
    assert move_counts(envs.make(name), len(counts)) == counts


def test_all_games_of_tic_tac_toe():
    """After five moves 1,440 games are won, after six 5,328, and so on: 255,168 games in all."""
    counts = move_counts(envs.make("tic_tac_toe"), 9, chunk=16384)
    assert counts == [9, 72, 504, 3024, 15120, 54720, 148176, 200448, 127872]
