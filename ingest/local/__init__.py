"""Real servers on loopback, for development and tests: a Kafka broker, a schema registry, recorded messages.

broker, registry → process → servers        fixture → cut → load
"""
