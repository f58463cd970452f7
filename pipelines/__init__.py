"""The stages as commands, thin: parse, build, call, print; one file each, or a folder with command.py in it.

`commands` is the table of them, `cli` the program. Nothing in vtr_core but a system's commands imports this.
"""

import os
import sys

if sys.argv[:1] == ["-m"] and os.path.realpath(sys.path[0]) != os.path.realpath(f"{__path__[0]}/.."):
    del sys.path[0]  # the working directory, where `python -m` looks first: a queue.py there would replace Python's
