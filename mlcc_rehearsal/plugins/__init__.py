"""Stand-in Pulumi plugins that the real engine attaches to with PULUMI_DEBUG_PROVIDERS.

Each plugin is a package with a module ``plugin`` whose ``serve()`` starts a server and returns
it (`mlcc_rehearsal.plugins.serving.Server`). ``python -m mlcc_rehearsal.plugins NAME…`` serves
one or several in one process. What they have in common is in `mlcc_rehearsal.plugins.serving`
(the plugin protocol) and `mlcc_rehearsal.plugins.values` (property values).
"""
