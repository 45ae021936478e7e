"""The tree search: Gumbel AlphaZero's (Danihelka et al. 2022) or AlphaZero's own (Silver et al. 2017, 2018)."""

from __future__ import annotations

import dataclasses
from typing import Annotated, Literal

from annotated_types import Ge, Interval


@dataclasses.dataclass(frozen=True)
class GumbelConfig:
    """What only the policy gumbel reads: sequential halving and completed Q-values (Danihelka et al. 2022)."""

    max_num_considered_actions: Annotated[int, Ge(1)] = 16
    """Actions that sequential halving starts from at the root; at most half the simulations are used."""
    value_scale: Annotated[float, Ge(0)] = 0.1
    """Scale of the completed Q-values in the policy target (c_scale)."""
    maxvisit_init: Annotated[float, Ge(0)] = 50.0
    """Offset of the visit count in the policy target (c_visit)."""
    rescale_values: bool = False
    """Whether Q-values are stretched to [0, 1] among siblings before `value_scale` (mctx's default). That makes
    opinions of rounding errors where all moves are equally good."""


@dataclasses.dataclass(frozen=True)
class PuctConfig:
    """What only the policy puct reads: the papers' formula, noise at the root, the temperature, and reuse of trees."""

    c_puct: Annotated[float, Ge(0)] = 0.0
    """AlphaGo Zero's constant of exploration, for Q in [-1, 1]; 0 takes AlphaZero's `c_init` and `c_base`."""
    c_init: Annotated[float, Ge(0)] = 1.25
    """c(s) = log((1 + N(s) + c_base) / c_base) + c_init, for Q in [-1, 1] (AlphaZero: 1.25; its pseudocode has Q in
    [0, 1], where the same number explores twice as much: that is 2.5 here)."""
    c_base: Annotated[float, Ge(1)] = 19_652.0
    """Visits after which c(s) has grown by log 2 (AlphaZero: 19,652)."""
    fpu: Literal["zero", "loss", "parent"] = "zero"
    """Q of a move not yet visited. zero: a draw (AlphaGo Zero); loss: -1 (AlphaZero's pseudocode); parent: the node's
    own value less `fpu_reduction` times the root of the visited moves' prior (Leela Zero)."""
    fpu_reduction: Annotated[float, Ge(0)] = 0.25
    """See `fpu`."""
    dirichlet_fraction: Annotated[float, Interval(ge=0, le=1)] = 0.25
    """Share of Dirichlet noise in the root's prior, in self-play (papers: 0.25)."""
    dirichlet_alpha: Annotated[float, Ge(0)] = 0.0
    """Concentration of that noise (AlphaZero: 0.3 chess, 0.15 shogi, 0.03 Go); 0 is 10 / legal moves."""
    temperature: Annotated[float, Ge(0)] = 1.0
    """Self-play draws moves in proportion to visits^(1 / temperature); 0 takes the most visited."""
    temperature_plies: Annotated[int, Ge(0)] = 30
    """After this many moves of a game the temperature is 0 (AlphaGo Zero: 30, AlphaZero: no end)."""
    forced_playouts: Annotated[float, Ge(0)] = 0.0
    """k of forced playouts and policy target pruning (Wu 2019, 3.2): a visited move of the root gets at least
    sqrt(k P N) visits, and what was only forced is taken out of the target (KataGo: 2); 0 is off."""
    reuse: Literal["evaluation", "always", "never"] = "evaluation"
    """Where a search goes on with the part of the last tree that the moves since have led to: in play and matches, in
    self-play too (inherited visits drown the root's noise), or nowhere."""
    reuse_nodes: Annotated[int, Ge(0)] = 0
    """Nodes that are kept of the last tree, the oldest first; 0 is as many as simulations."""


@dataclasses.dataclass(frozen=True)
class SearchConfig:
    """The tree search."""

    policy: Literal["gumbel", "puct"] = "gumbel"
    """gumbel: sequential halving and completed Q-values, good from two simulations on; puct: the papers' formula, visit
    fractions as targets. Each reads the group of settings with its name."""
    num_simulations: Annotated[int, Ge(1)] = 32
    """Simulations a move (AlphaZero: 800)."""
    max_depth: Annotated[int, Ge(0)] = 0
    """Moves that a simulation looks ahead at most; 0 is no limit."""
    full_search_share: Annotated[float, Interval(gt=0, le=1)] = 1.0
    """Playout cap randomisation (Wu 2019, 3.1): the share of moves that are searched in full and trained on; the rest
    are searched with `cheap_simulations`, without noise, and not trained on (KataGo: 0.25)."""
    cheap_simulations: Annotated[int, Ge(0)] = 0
    """Simulations of a move that is not searched in full (KataGo: a sixth); at least 1 if there are such moves."""
    gumbel: GumbelConfig = GumbelConfig()
    puct: PuctConfig = PuctConfig()

    def with_simulations(self, num_simulations: int) -> SearchConfig:
        """The same search with another budget."""
        return dataclasses.replace(self, num_simulations=num_simulations)

    @property
    def kept_nodes(self) -> int:
        """Nodes kept of the last tree where trees are reused."""
        return self.puct.reuse_nodes or self.num_simulations

    def require_possible(self) -> None:
        """Raises ValueError for settings that mean nothing together."""
        if self.full_search_share < 1:
            if not 1 <= self.cheap_simulations < self.num_simulations:
                raise ValueError(
                    f"search.cheap_simulations={self.cheap_simulations}: with full_search_share="
                    f"{self.full_search_share} the other moves need at least 1 and fewer than "
                    f"num_simulations={self.num_simulations} simulations"
                )
            if self.puct.reuse == "always":
                raise ValueError(
                    "search.puct.reuse=always keeps one tree from move to move, and full_search_share below 1 searches "
                    "them differently; set reuse=never or full_search_share=1"
                )
        if self.policy == "gumbel" and self.puct.reuse == "always":
            raise ValueError(
                "search.puct.reuse=always: gumbel starts every tree at its root, whose visits count its rounds; "
                "set search.policy=puct or leave it out"
            )
        if self.policy == "gumbel" and self.puct.forced_playouts:
            raise ValueError(
                f"search.puct.forced_playouts={self.puct.forced_playouts}: gumbel has no forced playouts; "
                "set search.policy=puct or leave it out"
            )
