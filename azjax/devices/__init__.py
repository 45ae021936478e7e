"""What the devices hold.

memory      what trees and replay take on a device, and whether they fit
"""
