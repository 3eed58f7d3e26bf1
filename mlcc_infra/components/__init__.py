"""Pulumi components: resources grouped by what they are for. Public names are re-exported here."""
