"""The command line: one module a command group, no logic beyond calling a room and printing."""
