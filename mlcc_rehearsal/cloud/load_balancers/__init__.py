"""Load balancers: the two services, and the controllers in clusters that make them from objects."""
