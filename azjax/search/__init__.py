"""State and network -> action, policy target and root value. The only package that knows mctx."""

from azjax.search.gumbel import make_gumbel
from azjax.search.tree import Search, SearchOutput

__all__ = ["Search", "SearchOutput", "make_gumbel"]
