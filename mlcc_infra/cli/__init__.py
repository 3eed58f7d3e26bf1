"""The `mlcc-infra` command. Each module with a function ``register(app)`` adds its part to it."""
