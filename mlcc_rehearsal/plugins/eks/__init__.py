"""The `eks` stand-in: the published component ``eks:index:Cluster`` of pulumi_eks, served by attach.

It registers what the published component registers — the same names, types, parents, inputs, dependencies
and outputs — so that a state made with one can be taken over with the other. Source of the facts:
pulumi/pulumi-eks ``nodejs/eks`` (cluster/cluster.ts, cluster/authenticationMode.ts, addons/cni-addon.ts,
nodes/securitygroup.ts, servicerole.ts) at commit 7bf0c1b1 of 2026-08-12, and the classes of the installed
Python SDK for the names of inputs and outputs.

What it does not model is refused, never ignored: the list, and where to add to it, is in
`mlcc_rehearsal.plugins.eks.options`.
"""
