"""A run on disk: trained, gone on with, rated, drawn. Each module imports only from above it:

checkpoint  the whole run's state <-> disk
directory   a run's directory: configuration, metrics, checkpoints, networks
plots       ratings and metrics -> pictures
rating      a run's networks -> ratings and their curve
strength    a run's network -> its exact strength, alone and with search
session     trains a run directory, from where it stands
progress    tells a person how training goes
"""
