"""How strong players are. Each module imports only from above it:

arena       two players -> game records
bayeselo    game records -> ratings with error bars
climb       a player -> how far it climbs against rollouts that get stronger
exact       a player -> how often it errs, by perfect play
"""
