"""The table of resource types, one module an AWS service area: see `definition`."""
