"""After a killed run: who held the stack's lock, and what became of the operations it had begun."""
