"""A HyperPod cluster made by AWS's published CloudFormation template, as one stack resource."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar, final

import pulumi
from pulumi_aws import cloudformation, ec2, eks, s3

from mlcc_infra.account.decisions import FIRST_TRIGGER, Wanted
from mlcc_infra.components.base import Component, StackContext
from mlcc_infra.components.bucket_emptying import BucketEmptying
from mlcc_infra.components.log_group_sweep import LogGroupSweep
from mlcc_infra.components.network import PUBLIC_LOAD_BALANCER_TAG, TAG
from mlcc_infra.components.s3_bucket import (
    OBJECT,
    BucketResources,
    create_bucket,
    wanted_bucket,
    wanted_object,
)
from mlcc_infra.components.sweep import SweepArgs
from mlcc_infra.naming import Names
from mlcc_infra.policies import policy_text
from mlcc_infra.policies.buckets import deny_plain_http
from mlcc_infra.template import CAPABILITIES, FROZEN, stack_policy
from mlcc_infra.template.lifecycle import SCRIPT, SCRIPT_KEY
from mlcc_infra.template.made import PUBLIC_SUBNET_TAG, log_groups, public_subnet_names
from mlcc_infra.template.parameters import EKS_NAME, short_prefix
from mlcc_infra.template.stack import TIMEOUT_MINUTES

STACK = "aws:cloudformation/stack:Stack"
KIND = "stack"
LIFECYCLE_BUCKET = "lifecycle-bucket"
LIFECYCLE_SCRIPT = "lifecycle-script"


@final
@dataclass(frozen=True, kw_only=True)
class ExistingNative:
    """A stack that others made: its name, the prefix of what it made, its clusters, and its buckets, which
    have to be empty when it is deleted."""

    stack_name: str
    prefix: str
    eks_cluster: str
    hyperpod_cluster: str
    buckets: Sequence[str] = ()


@final
@dataclass(frozen=True, kw_only=True)
class HyperPodNativeArgs:
    """The stack to make, and what it needs to exist first.

    `parameters` are text, checked against the template's contract before. `zone_count` tells how many
    public subnets the template makes, None where it makes no VPC. `replacement_trigger` changes when the
    recorded stack is dead and has to be replaced; then it is not `frozen`, and the new one is made with what
    is asked for now. `before` must be in place before the stack: the instance role's policies, and the bucket
    that an operator of the template is told.
    `existing` names a stack that others made: then bucket and script are its own.
    """

    template_url: str
    parameters: Mapping[str, str]
    zone_count: int | None
    before: Sequence[pulumi.Resource]
    replacement_trigger: str = ""
    frozen: bool = True
    keep_failed: bool = False
    existing: ExistingNative | None = None


@final
@dataclass(frozen=True, kw_only=True)
class HyperPodNativeResources:
    """The children of `HyperPodNativeFromTemplate`."""

    lifecycle_bucket: BucketResources | None
    lifecycle_script: s3.BucketObjectv2 | None
    log_group_sweep: LogGroupSweep | None
    bucket_emptying: BucketEmptying | None
    stack: cloudformation.Stack
    load_balancer_tags: Sequence[ec2.Tag]


class HyperPodNativeFromTemplate(Component):
    """VPC, EKS cluster and HyperPod cluster by AWS's `main-stack-eks-based-template.yaml`.

    Made once, then frozen: an update of the stack can push back what the cluster was made with, so later
    differences are ignored here and reported by the preflight (facts/hyperpod_native.md, rule 6). A dead
    stack is replaced by the engine, before anything new is made under its name (rule 1). The bucket for
    lifecycle scripts is ours, because the template's own upload takes a moving branch and its deletion
    empties the bucket. Issuer, endpoint and certificate are read from EKS: the stack has no such outputs.
    A stack that the console or `hyp` made is taken over as it is, and stays on destroy unless `mlcc:own` has
    it; what it does not clean up itself is cleaned up only when it goes (rule 7).
    """

    TOKEN: ClassVar[str] = "mlcc:hyperpod:HyperPodNativeFromTemplate"

    def __init__(
        self,
        name: str,
        args: HyperPodNativeArgs,
        *,
        context: StackContext,
        opts: pulumi.ResourceOptions | None = None,
    ) -> None:
        super().__init__(name, context, opts, module="hyperpod")
        self._args = args
        bucket, script = (None, None) if args.existing else self._lifecycle()
        made = args.existing
        self._stack_name = made.stack_name if made else context.names.hyperpod_stack
        self._prefix = made.prefix if made else context.names.hyperpod_stack
        cluster = made.hyperpod_cluster if made else context.names.hyperpod_cluster
        goes = self.child(STACK, "stack").retain_on_delete is None
        eks_name = made.eks_cluster.removeprefix(f"{made.prefix}-") if made else EKS_NAME
        sweep = (
            self._sweep(log_groups(self._prefix, short_prefix(context.names), cluster, eks_name))
            if goes
            else None
        )
        before = [*(bucket.settings if bucket else ()), *([bucket.bucket] if bucket else [])]
        before += [each for each in (script, sweep) if each is not None]
        stack = self._stack([*before, *args.before])
        emptying = self._emptying(made.buckets, stack) if made and made.buckets and goes else None
        outputs = stack.outputs
        self.cluster_arn: pulumi.Output[str] = outputs.apply(lambda made: made["OutputHyperPodClusterArn"])
        self.cluster_name: pulumi.Output[str] = outputs.apply(lambda made: made["OutputHyperPodClusterName"])
        self.eks_cluster_arn: pulumi.Output[str] = outputs.apply(lambda made: made["OutputEKSClusterArn"])
        self.eks_cluster_name: pulumi.Output[str] = outputs.apply(lambda made: made["OutputEKSClusterName"])
        self.vpc_id: pulumi.Output[str] = outputs.apply(lambda made: made.get("OutputVpcId", ""))
        self.private_subnet_ids: pulumi.Output[str] = outputs.apply(
            lambda made: made.get("OutputPrivateSubnetIds", "")
        )
        self.operator_role_arn: pulumi.Output[str] = outputs.apply(
            lambda made: made.get("OutputInfOperatorIAMRoleArn", "")
        )
        # What CloudFormation keeps of it (GetTemplate): the text at the address may be another one by now.
        self.template_digest: pulumi.Output[str] = stack.template_body.apply(
            lambda text: hashlib.sha256(text.encode()).hexdigest()
        )
        described = eks.get_cluster_output(
            name=self.eks_cluster_name, opts=pulumi.InvokeOutputOptions(parent=self, depends_on=[stack])
        )
        self.issuer: pulumi.Output[str] = described.identities.apply(
            lambda identities: str(identities[0].oidcs[0].issuer)
        )
        self.security_group_id: pulumi.Output[str] = described.vpc_config.apply(
            lambda vpc_config: str(vpc_config.cluster_security_group_id)
        )
        self.resources = HyperPodNativeResources(
            lifecycle_bucket=bucket,
            lifecycle_script=script,
            log_group_sweep=sweep,
            bucket_emptying=emptying,
            stack=stack,
            load_balancer_tags=self._load_balancer_tags(stack),
        )
        self.register_outputs(
            {
                "clusterArn": self.cluster_arn,
                "clusterName": self.cluster_name,
                "eksClusterName": self.eks_cluster_name,
                "issuer": self.issuer,
            }
        )

    def _lifecycle(self) -> tuple[BucketResources, s3.BucketObjectv2]:
        names, partition = self.context.names, self.context.partition
        bucket = create_bucket(
            self,
            LIFECYCLE_BUCKET,
            name=names.lifecycle_bucket,
            policy=policy_text(deny_plain_http(names.lifecycle_bucket, partition=partition)),
            force_destroy=True,
        )
        script = s3.BucketObjectv2(
            self.logical_name(LIFECYCLE_SCRIPT),
            bucket=bucket.bucket.id,
            key=SCRIPT_KEY,
            content=SCRIPT,
            content_type="text/x-shellscript",
            opts=self.child(OBJECT, LIFECYCLE_SCRIPT, depends_on=list(bucket.settings)),
        )
        return bucket, script

    def _swept(self, names: Sequence[str]) -> SweepArgs:
        return SweepArgs(
            names=names,
            account=self.context.names.account,
            region=self.context.names.region,
            aws_profile=self.context.aws_profile,
        )

    def _sweep(self, names: Sequence[str]) -> LogGroupSweep:
        return LogGroupSweep(
            self.logical_name("log-groups"),
            self._swept(names),
            opts=pulumi.ResourceOptions(parent=self),
        )

    def _emptying(self, names: Sequence[str], stack: cloudformation.Stack) -> BucketEmptying:
        return BucketEmptying(
            self.logical_name("stack-buckets"),
            self._swept(names),
            opts=pulumi.ResourceOptions(parent=self, depends_on=[stack]),
        )

    def _stack(self, before: Sequence[pulumi.Resource]) -> cloudformation.Stack:
        minutes = f"{TIMEOUT_MINUTES}m"
        return cloudformation.Stack(
            self.logical_name("stack"),
            name=self._stack_name,
            template_url=self._args.template_url,
            parameters=dict(self._args.parameters),
            capabilities=sorted(CAPABILITIES),
            policy_body=stack_policy(),
            disable_rollback=True if self._args.keep_failed else None,
            opts=self.child(
                STACK,
                "stack",
                depends_on=before,
                custom_timeouts=pulumi.CustomTimeouts(create=minutes, update=minutes, delete=minutes),
                ignore_changes=list(FROZEN) if self._args.frozen else None,
                replacement_trigger=self._args.replacement_trigger or FIRST_TRIGGER,
                delete_before_replace=True,
            ),
        )

    def _load_balancer_tags(self, stack: cloudformation.Stack) -> list[ec2.Tag]:
        """Internet-facing load balancers need tagged public subnets; the template tags none (rule 11)."""
        if self._args.zone_count is None:
            return []
        subnets = public_subnet_names(self._prefix, self._args.zone_count)
        return [self._load_balancer_tag(stack, number, name) for number, name in enumerate(subnets, 1)]

    def _load_balancer_tag(self, stack: cloudformation.Stack, number: int, subnet_name: str) -> ec2.Tag:
        child = f"public-subnet-{number}-load-balancer-tag"
        filters = self.vpc_id.apply(
            lambda vpc_id: [
                ec2.GetSubnetsFilterArgs(name="vpc-id", values=[vpc_id]),
                ec2.GetSubnetsFilterArgs(name=f"tag:{PUBLIC_SUBNET_TAG}", values=[subnet_name]),
            ]
        )
        found = ec2.get_subnets_output(
            filters=filters, opts=pulumi.InvokeOutputOptions(parent=self, depends_on=[stack])
        )
        return ec2.Tag(
            self.logical_name(child),
            resource_id=found.ids.apply(lambda ids: ids[0]),
            key=PUBLIC_LOAD_BALANCER_TAG,
            value="1",
            opts=self.child(TAG, child, depends_on=[stack]),
        )


def wanted_hyperpod_native(name: str, names: Names, existing: ExistingNative | None = None) -> list[Wanted]:
    """What the inventory looks up for the stack and its bucket; pure.

    The tags on the template's subnets are not looked up: they are idempotent, and go with the subnets.
    """
    stack = existing.stack_name if existing else names.hyperpod_stack
    cluster = existing.eks_cluster if existing else names.hyperpod_eks_cluster
    own = [
        *wanted_bucket(name, LIFECYCLE_BUCKET, names.lifecycle_bucket),
        wanted_object(name, LIFECYCLE_SCRIPT, names.lifecycle_bucket, SCRIPT_KEY),
    ]
    return [
        *(() if existing else own),
        Wanted(
            key=(STACK, f"{name}-stack"),
            kind=KIND,
            physical=stack,
            lookup={"stack": stack, "cluster": cluster, "lifecycle_bucket": names.lifecycle_bucket},
        ),
    ]
