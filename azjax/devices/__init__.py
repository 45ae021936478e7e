"""The devices, and what a run takes on them.

mesh        the devices of a run
memory      what trees and replay take on a device, and whether they fit
"""
