"""AlphaZero in JAX. The modules, in the order the data flows; each imports only from above it:

    config      frozen dataclasses, one per stage; every default stands here
    presets     every game's settings that are known to work
    slots       which actions the columns of a policy stand for: all, or the legal ones
    starts      start positions other than the usual one, read from text
    openings    random first moves, so that games differ
    network     observation -> policy logits, value
    search      state + network -> action, policy target, root value; the only place that knows mctx
    replay      trajectories -> finished games' samples, on the device
    selfplay    search -> trajectories [time, lane]
    memory      what trees and replay take on a device, and whether they fit
    learner     samples -> params
    train       the loop on one page: self-play, store, learn as one function of the whole run's state
    checkpoint  the whole run's state <-> disk
    players     anything that picks a move: network and search, raw network, rollouts, random, solver
    arena       two players -> game records
    elo         game records -> ratings with error bars
    ladder      a player -> how far it climbs against rollouts that get stronger
    exact       a player -> how often it errs, by perfect play
    plots       ratings and metrics -> pictures
    rundir      a run's directory: configuration, metrics, checkpoints, networks
    rating      a run's networks -> ratings and their curve
    check       a run's network -> its exact strength, alone and with search
    session     trains a run directory, from where it stands
    progress    tells a person how training goes
    play        a person against any player, in the terminal
    options     words of the command line -> options
    commands    what the commands of the command line do
    cli         the command line

The rules of the games are the package `envs`, which knows nothing of this one.
"""

from importlib import metadata

try:
    __version__ = metadata.version("azjax")
except metadata.PackageNotFoundError:  # a checkout on the path, not installed
    __version__ = "0+unknown"
