"""AlphaZero in JAX. The modules and packages, in the order the data flows; each imports only from above it:

    config      frozen dataclasses, one per stage, where every default stands, and presets
    openings    how games begin: start positions read from text, random first moves
    network     observation -> policy logits, value
    search      state + network -> action, policy target, root value; the only place that knows mctx
    replay      trajectories -> finished games' samples, on the device
    selfplay    search -> trajectories [time, lane]
    learner     samples -> params
    train       the loop on one page: self-play, store, learn as one function of the whole run's state
    devices     what a run takes on a device, and whether it fits
    players     anything that picks a move: network and search, raw network, rollouts, random, solver, programs
    evaluate    players -> game records, ratings with error bars, exact strength
    runs        a run's directory: trained from where it stands, kept on disk, rated, drawn
    serve       a person against any player
    cli         the command line

The rules of the games are the package `envs`, which knows nothing of this one.
"""

from importlib import metadata

try:
    __version__ = metadata.version("azjax")
except metadata.PackageNotFoundError:  # a checkout on the path, not installed
    __version__ = "0+unknown"
