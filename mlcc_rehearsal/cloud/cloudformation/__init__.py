"""CloudFormation: stacks of AWS's HyperPod template really make what the template makes, in modelled time.

moto answers for every other template.  The template itself is known by its contract
(``data/hyperpod_eks_template.json``: parameters, conditions, nested stacks, outputs) and by what its nested
templates make (:mod:`.nested`); nothing here reads the product's own copy of the contract, so the rehearsal
stays an independent judge.
"""
