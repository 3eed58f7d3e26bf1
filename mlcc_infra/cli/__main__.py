"""``python -m mlcc_infra.cli``: the command without its script, for an interpreter that is known by path."""

from mlcc_infra.cli.main import main

if __name__ == "__main__":
    main()
