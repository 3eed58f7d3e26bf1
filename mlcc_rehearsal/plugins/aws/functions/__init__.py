"""The data sources of the provider: ``FUNCTIONS`` of each module, token -> function of a call."""
