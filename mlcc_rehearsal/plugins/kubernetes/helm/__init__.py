"""Helm releases: ``kubernetes:helm.sh/v3:Release`` with modelled charts, no download."""
