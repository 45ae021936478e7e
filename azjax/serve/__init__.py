"""What lets others meet a player.

terminal    a person against any player, in the terminal
"""
