"""Playing in the terminal, by script: what is drawn, said, taken back and refused."""

import io
import sys

import jax
import jax.numpy as jnp
import pytest
from tiny import tiny_config

import envs
from azjax import cli
from azjax.network import make_network
from azjax.players import Thinker, Thought, random_player, rollout_thinker, solver_thinker
from azjax.runs.directory import RunDirectory
from azjax.serve.terminal import play

TIC_TAC_TOE = envs.make("tic_tac_toe")


def scripted(game, *moves, line=(), score=0.25):
    """The opponent that makes these moves in turn, and expects `line` after them."""
    left = list(moves)

    def think(state, key):
        del key
        action = game.action_from_text(state, left.pop(0))
        return Thought(action, score, (action, *line))

    return Thinker("a script", think)


def played(game, opponent, *lines, **settings):
    """The result, and everything that was said."""
    left, said = list(lines), []

    def ask(prompt):
        said.append(prompt)
        if not left:
            raise EOFError
        return left.pop(0)

    result = play(game, opponent, ask=ask, say=said.append, **settings)
    assert result is None or not left, f"the game ended before {left}"
    return result, "\n".join(said)


def test_a_win():
    result, said = played(TIC_TAC_TOE, scripted(TIC_TAC_TOE, "a1", "b1"), "b2", "A2 ", "c2")
    assert result == 1 and said.endswith("You win.")
    assert "You move first." in said
    assert " 2 . x . 2\n 1 o . . 1\n" in said and "Last move: a1, by your opponent." in said
    assert " 2 x x x 2\n 1 o o . 1\n" in said and "Last move: c2, by you." in said
    assert "It plays a1 and expects a score of 25 % for itself." in said


def test_another_start():
    start, _ = TIC_TAC_TOE.step(TIC_TAC_TOE.init(), jnp.int32(4))
    result, said = played(TIC_TAC_TOE, scripted(TIC_TAC_TOE, "a1", "a2", "a3"), "c1", "c2", you="first", start=start)
    assert result == -1 and " 2 . x . 2\n" in said.split("your move")[0]


def test_a_loss_as_second_player():
    result, said = played(TIC_TAC_TOE, scripted(TIC_TAC_TOE, "b2", "a2", "c2"), "a1", "b1", you="second")
    assert result == 1 and said.endswith("You lose.")


def test_a_draw():
    opponent = scripted(TIC_TAC_TOE, "a1", "c2", "b3", "a3")
    result, said = played(TIC_TAC_TOE, opponent, "b2", "a2", "b1", "c3", "c1")
    assert result == 0 and said.endswith("The game is drawn.")


def test_undo_takes_back_your_move_and_the_answer():
    opponent = scripted(TIC_TAC_TOE, "a1", "b1", "a3", "b3")
    result, said = played(TIC_TAC_TOE, opponent, "undo", "b2", "a2", "undo", "undo", "c2", "b2", "a2")
    assert "You have not moved yet" in said
    assert said.count("Last move: a1, by your opponent.") == 2  # after it was played, and after the first undo
    assert result == 1


def test_undo_among_extra_turns():
    """Who closes a box moves again, so that the last move may be your own."""
    game = envs.make("dots_and_boxes", rows=1, columns=2)
    result, said = played(game, scripted(game, "h11", "v00"), "h00", "h10", "v01", "undo", "undo")
    assert result is None
    shown = [line.removeprefix("Last move: ") for line in said.splitlines() if line.startswith("Last move: ")]
    you, it = "by you.", "by your opponent."
    before = [f"h00, {you}", f"h11, {it}", f"h10, {you}", f"v00, {it}", f"v01, {you}"]
    assert shown == [*before, f"v00, {it}", f"h11, {it}"]


def test_bad_moves_are_explained_and_cost_nothing():
    result, said = played(TIC_TAC_TOE, scripted(TIC_TAC_TOE, "a1", "b1"), "b2", "b2", "z9", "a2", "c2")
    assert result == 1
    assert "'b2' is not a legal move here; legal moves: a3 b3 c3 a2 c2 b1 c1" in said
    assert "'z9' is not a legal move here" in said


def test_moves_hint_and_help():
    result, said = played(TIC_TAC_TOE, scripted(TIC_TAC_TOE, "c3"), "moves", "hint", "", "help")
    assert result is None, "the end of the input ends the game"
    assert "a3 b3 c3 a2 b2 c2 a1 b1 c1" in said
    assert "In your place it would play c3 and expects a score of 25 % for you." in said
    assert said.count("take back your last move") == 2 and said.endswith("Goodbye.")


def test_the_main_line_ends_where_the_game_does():
    """After the game's end a search goes on through states that do not change."""
    opponent = scripted(TIC_TAC_TOE, "a1", "b1", line=[3, 0, 1])
    _, said = played(TIC_TAC_TOE, opponent, "b2", "c2", "quit")
    assert "Main line: a1 a2 a3 b3.\n" in said and "Main line: b1 a2.\n" in said


def test_watching():
    opponent = scripted(TIC_TAC_TOE, "b2", "a1", "a2", "b1", "c2")
    result, said = played(TIC_TAC_TOE, opponent, you="none")
    assert result == 1 and said.endswith("The first player wins.")
    assert "The second player plays b1 and expects" in said and "Last move: b1, by the second player." in said


def test_random_moves_are_legal_and_depend_on_the_seed():
    games = {played(TIC_TAC_TOE, random_player(TIC_TAC_TOE), you="none", seed=seed)[1] for seed in (0, 0, 1, 2)}
    assert len(games) == 3


def test_the_solver_is_sure_and_does_not_lose():
    game = envs.make("dots_and_boxes", rows=1, columns=1)  # a win for the second player
    result, said = played(game, solver_thinker(game), "h00", "v00")
    assert result == -1 and "expects a score of 100 % for itself" in said
    with pytest.raises(ValueError, match="no solver"):
        solver_thinker(TIC_TAC_TOE)


def test_rollouts_see_the_win_and_tell_what_they_expect():
    opponent = rollout_thinker(TIC_TAC_TOE, 300)
    assert opponent.name == "rollouts with 300 simulations a move"
    state = TIC_TAC_TOE.init()
    for action in (4, 0, 3, 1):
        state, _ = TIC_TAC_TOE.step(state, jax.numpy.int32(action))
    thought = opponent.think(state, jax.random.key(0))  # c2 wins, or c3 loses for the one who does not see it
    assert thought.action == 5 and thought.line[0] == 5
    assert thought.score is not None and 0.75 < thought.score <= 1
    assert thought == opponent.think(state, jax.random.key(0)), "the key is all that is random"


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    """A run with one network, untrained."""
    run = RunDirectory.create(tmp_path_factory.mktemp("play") / "run", tiny_config())
    networks = run.networks(read_only=False)
    variables = make_network(run.config.game, run.config.network).init(jax.random.key(0))
    networks.save(0, variables, {"games": 0, "minutes": 0.0})
    networks.close()
    return run


def test_a_network_with_and_without_search(run):
    raw = run.load_network().thinker(num_simulations=0)
    assert raw.think(TIC_TAC_TOE.init(), jax.random.key(0)) == Thought(0, 0.5, ())
    searching = run.load_network().thinker(num_simulations=100)
    state = TIC_TAC_TOE.init()
    for action in (4, 0, 3, 1):
        state, _ = TIC_TAC_TOE.step(state, jax.numpy.int32(action))
    thought = searching.think(state, jax.random.key(0))  # c2 wins, or c3 loses for the one who does not see it
    assert thought.action == 5 and thought.score is not None and thought.score > 0.6
    assert thought.line[0] == 5


def test_the_command_plays_a_script_from_a_pipe(run, monkeypatch, capsys):
    monkeypatch.setattr(sys, "stdin", io.StringIO("b2\nfoo\nundo\nhint\na1\n"))
    assert cli.main(["play", str(run.path), "--num-simulations", "8"]) == 0
    said = capsys.readouterr()
    assert not said.err
    assert "against the network of iteration 0 with 8 simulations a move" in said.out
    assert "your move: b2\n" in said.out and "'foo' is not a legal move here" in said.out
    assert "Main line: " in said.out and said.out.endswith("Goodbye.\n")


def test_ctrl_c_ends_the_game(run, monkeypatch, capsys):
    def interrupt(prompt):
        raise KeyboardInterrupt

    monkeypatch.setattr("builtins.input", interrupt)
    assert cli.main(["play", str(run.path), "--opponent", "random"]) == 0
    assert not capsys.readouterr().err
