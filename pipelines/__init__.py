"""The stages as commands, thin: parse, build, call, print; one file each, or a folder with command.py in it.

`commands` is the table of them, `cli` the program. Nothing in vtr_core but a system's commands imports this.
"""
