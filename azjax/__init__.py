"""AlphaZero in JAX. The modules, in the order the data flows; each imports only from above it:

    config      frozen dataclasses, one per stage; every default stands here and nowhere else
    network     observation -> policy logits, value
    search      state + network -> action, policy target, root value; the only place that knows mctx
    openings    random first moves, so that games differ
    selfplay    search -> trajectories [time, lane]
    replay      trajectories -> finished games' samples, on the device
    learner     samples -> params
    train       the loop on one page; the only file that knows all of the above
    checkpoint  the whole run state <-> disk
    players     anything that picks a move: network and search, raw network, random, solver
    arena       two players -> game records
    elo         game records -> ratings with error bars
    exact       a player -> how often it errs, by perfect play
    plots       ratings and metrics -> pictures
    cli         the command line

The rules of the games are the package `envs`, which knows nothing of this one.
"""

from importlib import metadata

try:
    __version__ = metadata.version("azjax")
except metadata.PackageNotFoundError:  # a checkout on the path, not installed
    __version__ = "0+unknown"
