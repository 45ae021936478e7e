"""The tests' data: cases from public bug reports with their right answers, move counts, solved positions."""

import json
from pathlib import Path

DATA = Path(__file__).parents[1] / "data"

CASES = {case["id"]: case for case in json.loads((DATA / "cases.json").read_text())}
"""The cases by their ids."""
