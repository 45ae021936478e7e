"""Positions, games and engines' protocols as text, on the host."""
