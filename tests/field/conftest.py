"""Lives that rows of field reports are judged by, each played once a session."""

from tests.engine.hyperpod_lives import adoption_life, kept_life, killed_life, refused_life

__all__ = ["adoption_life", "kept_life", "killed_life", "refused_life"]
