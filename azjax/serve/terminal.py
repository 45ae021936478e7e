"""A person against any player, in the terminal."""

from __future__ import annotations

import functools
import textwrap
from collections.abc import Callable, Sequence
from typing import Any, Literal, NamedTuple

import jax
import numpy as np

from azjax.players import Player, Thinker, Thought, as_thinker
from envs.core import Game

HELP = """\
Type a move as it stands on the board or in the list of moves, or:
  moves  list the legal moves
  hint   what your opponent would play for you
  undo   take back your last move, and what was answered
  help   this text
  quit   leave the game (so do Ctrl-C and Ctrl-D)
A score of 100 % is a sure win, a draw counts half."""


class Position(NamedTuple):
    """One entry of the game's history."""

    state: Any
    mover: int | None  # who made the move that led here; None at the start
    move: str  # its text
    score: float  # what the first player has won so far


def play(
    game: Game,
    player: Player | Thinker,
    *,
    you: Literal["first", "second", "none"] = "first",
    seed: int = 0,
    start: Any = None,
    ask: Callable[[str], str] = input,
    say: Callable[[str], None] = print,
) -> float | None:
    """Plays one game; "none" lets the opponent play both sides. Returns the result for the first player (+1, 0, -1).

    `start` is the state it begins with, the usual one where it is None.

    `ask(prompt)` brings the person's lines and may raise EOFError; then, and at "quit", None comes back.
    """
    opponent = as_thinker(player)
    person = {"first": 0, "second": 1, "none": None}[you]
    history = [Position(game.init() if start is None else start, None, "", 0.0)]
    key = jax.random.key(seed)
    say(f"{game}, against {opponent.name}." if person is not None else f"{game}: {opponent.name}, both sides.")
    if person is not None:
        say(f"You move {you}. Type a move, or help.")
    while not history[-1].state.terminated:
        here = history[-1]
        mover = int(here.state.player)
        _show(game, here, person, say)
        if mover == person:
            answer = _ask_move(game, opponent, here.state, key, ask, say)
            if answer == "quit":
                say("Goodbye.")
                return None
            if answer == "undo":
                history = _undo(history, mover, say)
                continue
            action = int(answer)
        else:
            key, subkey = jax.random.split(key)
            thought = opponent.think(here.state, subkey)
            action = thought.action
            who = "It" if person is not None else f"The {_side(mover)}"
            say(f"{who} plays {_thought_text(game, here.state, thought, 'for itself')}")
        state, transition = _step(game, here.state, action)
        reward = float(transition.reward)
        text = game.action_to_text(here.state, action)
        history.append(Position(state, mover, text, here.score + (reward if mover == 0 else -reward)))
    _show(game, history[-1], person, say)
    result = float(np.sign(history[-1].score))
    say(_result_text(result, person))
    return result


def _ask_move(
    game: Game,
    opponent: Thinker,
    state: Any,
    key: jax.Array,
    ask: Callable[[str], str],
    say: Callable[[str], None],
) -> str:
    """The person's action as a number, or "undo", or "quit"; everything else is answered here."""
    while True:
        try:
            line = ask("your move: ").strip()
        except EOFError:
            say("")
            return "quit"
        word = line.lower()
        if word in ("undo", "quit"):
            return word
        if word in ("", "help", "?"):
            say(HELP)
        elif word == "moves":
            legal = np.flatnonzero(game.legal_action_mask(state))
            say(_wrap(" ".join(game.action_to_text(state, int(action)) for action in legal)))
        elif word == "hint":
            thought = opponent.think(state, key)
            say(f"In your place it would play {_thought_text(game, state, thought, 'for you')}")
        else:
            try:
                return str(game.action_from_text(state, line))
            except ValueError as error:
                say(_wrap(str(error)))


def _undo(history: list[Position], mover: int, say: Callable[[str], None]) -> list[Position]:
    """The history up to the position before the mover's last move, or unchanged where there is none."""
    own = [place for place, position in enumerate(history) if position.mover == mover]
    if not own:
        say("You have not moved yet: there is nothing to take back.")
        return history
    return history[: own[-1]]


def _show(game: Game, position: Position, person: int | None, say: Callable[[str], None]) -> None:
    text = f"\n{game.render(position.state)}"
    if position.mover is not None:
        who = (
            f"the {_side(position.mover)}" if person is None else "you" if position.mover == person else "your opponent"
        )
        text += f"\nLast move: {position.move}, by {who}."
    say(text)


def _thought_text(game: Game, state: Any, thought: Thought, whose: str) -> str:
    text = game.action_to_text(state, thought.action)
    if thought.score is not None:
        text += f" and expects a score of {100 * thought.score:.0f} % {whose}"
    line = _line_text(game, state, thought.line)
    return f"{text}. Main line: {line}." if line else f"{text}."


def _line_text(game: Game, state: Any, actions: Sequence[int]) -> str:
    """A line of play as moves, up to the end of the game: what a search expects after it means nothing."""
    moves = []
    for action in actions:
        if state.terminated:
            break
        moves.append(game.action_to_text(state, action))
        state, _ = _step(game, state, action)
    return " ".join(moves)


@functools.partial(jax.jit, static_argnums=0)
def _step(game: Game, state: Any, action: Any) -> Any:
    return game.step(state, action)


def _side(player: int) -> str:
    return ("first player", "second player")[player]


def _result_text(result: float, person: int | None) -> str:
    if result == 0:
        return "The game is drawn."
    winner = 0 if result > 0 else 1
    if person is None:
        return f"The {_side(winner)} wins."
    return "You win." if winner == person else "You lose."


def _wrap(text: str) -> str:
    return textwrap.fill(text, 100)
