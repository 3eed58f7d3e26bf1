"""An AWS account on the desk.

The package rehearses what mlcc-infra does to an AWS account, without one: an AWS API in process
(:mod:`mlcc_rehearsal.cloud`), a small Kubernetes API for each rehearsed cluster
(:mod:`mlcc_rehearsal.kubernetes_api`) and stand-in plugins that the real Pulumi engine attaches to
(:mod:`mlcc_rehearsal.plugins`).  ``mlcc_infra`` never imports it; the command starts it as a process.
"""
