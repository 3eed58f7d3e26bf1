"""Stand-in for the pulumi-kubernetes provider: see ``plugin.serve``."""
