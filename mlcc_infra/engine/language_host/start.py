"""Starts the host, or the dynamic provider, from wherever this folder was copied to.

Run as a file with ``python -I``: the user's PYTHONPATH, meant for the program, must not reach the host.
"""

import importlib
import sys
from pathlib import Path

MODULES = {"language-host": "main", "dynamic-provider": "dynamic_provider"}

if __name__ == "__main__":
    folder = Path(__file__).resolve().parent
    sys.path.insert(0, str(folder.parent))
    module = importlib.import_module(f"{folder.name}.{MODULES[sys.argv[1]]}")
    sys.exit(module.main(sys.argv[2:]))
