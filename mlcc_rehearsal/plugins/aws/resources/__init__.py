"""The table of resource types, one module an AWS service area. See `mlcc_rehearsal.plugins.aws.definition`."""
