"""The HyperPod inference operator: its EKS add-on, what it puts into a cluster, its controller, its watcher.

Sources for all of it, with their weight: facts gathered from the SageMaker HyperPod documentation (model
deployment setup, release notes, inference gateway, troubleshooting), the operator's chart in
aws/sagemaker-hyperpod-cli, AWS's installer in aws/sagemaker-hyperpod-cluster-setup, and the predecessor's
record.  What only the last says is marked unverified in :mod:`mlcc_rehearsal.cloud.laws`.
"""
