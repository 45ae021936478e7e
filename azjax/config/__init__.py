"""Every setting of a run, one frozen dataclass a stage. Every default stands here and nowhere else.

Each module imports only from above it:


settings    what all settings have in common: bounds, changes, names
network     the network
search      the tree search
selfplay    self-play
replay      the replay
learner     learning
checkpoint  what is kept on disk
rating      how strength is measured by games
run         a whole run: all stages together
presets     every game's settings that are known to work
"""

from azjax.config.checkpoint import CheckpointConfig
from azjax.config.learner import LearnerConfig
from azjax.config.network import NetworkConfig
from azjax.config.presets import preset, preset_names
from azjax.config.rating import LadderConfig, RatingConfig
from azjax.config.replay import ReplayConfig
from azjax.config.run import Config, differences, from_dict, require_effect, to_dict, validate
from azjax.config.search import GumbelConfig, PuctConfig, SearchConfig
from azjax.config.selfplay import SelfPlayConfig
from azjax.config.settings import Difference, merge, replace, require_in_bounds

__all__ = [
    "CheckpointConfig",
    "Config",
    "Difference",
    "GumbelConfig",
    "LadderConfig",
    "LearnerConfig",
    "NetworkConfig",
    "PuctConfig",
    "RatingConfig",
    "ReplayConfig",
    "SearchConfig",
    "SelfPlayConfig",
    "differences",
    "from_dict",
    "merge",
    "preset",
    "preset_names",
    "replace",
    "require_effect",
    "require_in_bounds",
    "to_dict",
    "validate",
]
