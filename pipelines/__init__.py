"""The stages as commands, thin: parse, build, call, print."""
