"""mlcc-eks and mlcc-operator lose their state, on the real engine, judged by the account and its calls."""

from __future__ import annotations

from typing import ClassVar

from tests.engine.hyperpod_lives import Life
from tests.engine.lost_state import (
    LostState,
    assert_just_the_fargate_profile_was_replaced,
    assert_just_the_roles_with_a_path_were_replaced,
    of_the_account,
)


class TestEks(LostState):
    """The seeds take the VPC with all in it, and roles with route tables and subnets."""

    stack: ClassVar[str] = "mlcc-eks"
    seeds: ClassVar[tuple[int, ...]] = (29,)
    more_seeds: ClassVar[tuple[int, ...]] = (24, 28)
    loses_cluster: ClassVar[bool] = True
    retained: ClassVar[tuple[str, ...]] = (
        "role mlcc-eks-eks-cluster-role",
        "role mlcc-eks-eks-node-role",
        "role mlcc-eks-fargate-pod-exec-role",
    )

    def test_a_change_without_an_update_replaces_just_that(self, life: Life) -> None:
        assert_just_the_fargate_profile_was_replaced(life)

    def test_what_the_published_component_makes_is_taken_over_by_the_transform(self, life: Life) -> None:
        found = of_the_account(life, "after the loss")
        inside = [one for urn, one in found.items() if "eks:index:Cluster$" in urn]
        assert {one["type"] for one in inside} == {"aws:eks/cluster:Cluster", "aws:eks/addon:Addon"}
        assert all(one["importID"] == one["id"] for one in inside)

    def test_without_its_cluster_plain_pulumi_names_the_command(self, life: Life) -> None:
        """Field report H10: the provider stops at what lies in a cluster that is gone."""
        assert life.acts["without a cluster"]["code"] != 0
        words = life.words("without a cluster")
        assert "configured Kubernetes cluster is unreachable" in words
        assert "There is no EKS cluster mlcc-eks-eks in us-west-2" in words
        assert "mlcc-infra recover mlcc-eks" in words

    def test_what_was_in_the_cluster_is_dropped_and_up_makes_it_all_again(self, life: Life) -> None:
        dropped = life.acts["dropped"]
        assert dropped["because"] == ["There is no EKS cluster mlcc-eks-eks in us-west-2"]
        assert sorted(urn.rpartition("::")[2] for urn in dropped["resources"]) == [
            "eks-charts-aws-load-balancer-controller",
            "eks-charts-nvidia-device-plugin",
        ]
        assert of_the_account(life, "cluster made again").keys() == of_the_account(life, "up").keys()

    def test_destroy_finishes_without_the_cluster(self, life: Life) -> None:
        assert "dropped from the state" in life.words("destroy")


class TestOperator(LostState):
    """The cluster is somebody else's, and stays what it was."""

    stack: ClassVar[str] = "mlcc-operator"
    seeds: ClassVar[tuple[int, ...]] = (3,)
    more_seeds: ClassVar[tuple[int, ...]] = (1, 2)
    since: ClassVar[str] = "theirs"
    retained: ClassVar[tuple[str, ...]] = ("bucket hyperpod-tls-mlcc-operator-88de702d",)

    def test_a_change_without_an_update_replaces_just_that(self, life: Life) -> None:
        assert_just_the_roles_with_a_path_were_replaced(life)
