"""The runner: everything around a rehearsed command.

A rehearsal is a private folder, an environment that leads nowhere but the loopback, an AWS account in
process, stand-in plugins in processes of their own, and the command. `mlcc_rehearsal.runner.supervisor`
puts them together; this package imports nothing by itself, because the `pulumi` and `aws` commands of a
rehearsal start from it many times.
"""
