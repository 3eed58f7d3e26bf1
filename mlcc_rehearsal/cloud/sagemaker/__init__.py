"""SageMaker HyperPod: clusters on EKS, their groups, nodes and events; moto answers the rest of SageMaker."""
