"""What each nested template of AWS's HyperPod template makes.

Sources: facts/templates.md sections 5, 7 and 8; logical ids, names and tags as in
aws/sagemaker-hyperpod-cluster-setup, ``eks/cloudformation`` (commits in facts/templates.md, section 0).
"""
