"""Laws of load balancers: who makes them, what they hold, how they go."""

from __future__ import annotations

import itertools
import json
from collections.abc import Iterator
from typing import Any

import pytest
from botocore.exceptions import ClientError

from mlcc_infra.policies.service_account_roles import alb_controller_policy
from mlcc_rehearsal.cloud import Cloud, CloudOptions
from mlcc_rehearsal.plugins.kubernetes.helm import load_balancer as chart
from tests.unit.rehearsal_cloud.operator_desk import OperatorDesk

_ACCOUNTS = itertools.count(210000000001)


class BalancerDesk(OperatorDesk):
    """A cluster whose load balancer controller came from the Helm chart."""

    def prepare_network(self) -> None:
        self.there = self.cluster(self.network(nat=False))
        for number in range(2):
            self.node(f"node-{number}")
        self.provider()
        self.tag(self.there.public, "kubernetes.io/role/elb")
        self.tag(self.there.private, "kubernetes.io/role/internal-elb")

    def tag(self, subnets: list[str], key: str, value: str = "1") -> None:
        self.ec2.create_tags(Resources=subnets, Tags=[{"Key": key, "Value": value}])

    def controller(self, *subjects: str, namespace: str = "kube-system", grants: bool = True) -> None:
        role = self.controller_role(*subjects, grants=grants)
        annotations = {"eks.amazonaws.com/role-arn": role}
        values = {
            "clusterName": "demo",
            "serviceAccount": {"create": True, "name": chart.CHART, "annotations": annotations},
        }
        for each in (*chart.definitions(), *chart.render(chart.CHART, namespace, "3.5.0", values)):
            self.objects.put(each)
        self.until(lambda: self.ready(namespace), 120, 10)

    def controller_role(self, *subjects: str, grants: bool = True) -> str:
        subject = subjects or ("system:serviceaccount:kube-system:aws-load-balancer-controller",)
        arn = self.role("alb-controller", self.web_trust(*subject))
        if grants:
            document = json.dumps(alb_controller_policy())
            self.iam.put_role_policy(RoleName="alb-controller", PolicyName="alb", PolicyDocument=document)
        return arn

    def ready(self, namespace: str = "kube-system", name: str = chart.CHART) -> bool:
        found = self.objects.get("apps/v1", "Deployment", namespace, name) or {}
        return bool(found.get("status", {}).get("readyReplicas"))

    def ingress(self, scheme: str = "internet-facing") -> None:
        self.objects.put(
            {
                "apiVersion": "networking.k8s.io/v1",
                "kind": "Ingress",
                "metadata": {
                    "name": "web",
                    "namespace": "default",
                    "annotations": {"alb.ingress.kubernetes.io/scheme": scheme},
                },
                "spec": {
                    "ingressClassName": "alb",
                    "defaultBackend": {"service": {"name": "web", "port": {"number": 80}}},
                },
            }
        )

    def service(self, **spec: Any) -> None:
        self.objects.put(
            {
                "apiVersion": "v1",
                "kind": "Service",
                "metadata": {"name": "front", "namespace": "default", **spec.pop("metadata", {})},
                "spec": {"type": "LoadBalancer", "ports": [{"port": 80}], "selector": {"a": "b"}, **spec},
            }
        )

    def there_is(self, kind: str, name: str) -> dict[str, Any] | None:
        version = "networking.k8s.io/v1" if kind == "Ingress" else "v1"
        return self.objects.get(version, kind, "default", name)

    def hostname(self, kind: str, name: str) -> str:
        found = self.there_is(kind, name) or {}
        ingress = found.get("status", {}).get("loadBalancer", {}).get("ingress") or []
        return str(ingress[0]["hostname"]) if ingress else ""

    def balancers(self) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = self.client("elbv2").describe_load_balancers()["LoadBalancers"]
        return found

    def classic(self) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = self.client("elb").describe_load_balancers()["LoadBalancerDescriptions"]
        return found

    def interfaces(self) -> list[dict[str, Any]]:
        found = self.ec2.describe_network_interfaces()["NetworkInterfaces"]
        return [each for each in found if each["Description"].startswith("ELB ")]

    def k8s_groups(self) -> list[str]:
        found = self.ec2.describe_security_groups()["SecurityGroups"]
        return sorted(each["GroupName"] for each in found if each["GroupName"].startswith("k8s-"))

    def events(self, reason: str) -> list[str]:
        return [e["message"] for e in self.objects.list("v1", "Event", "default") if e["reason"] == reason]


@pytest.fixture
def desk() -> Iterator[BalancerDesk]:
    with Cloud.start(CloudOptions(account_id=str(next(_ACCOUNTS)), speed=1.0)) as cloud:
        made = BalancerDesk(cloud)
        made.prepare_network()
        yield made


def test_an_ingress_makes_a_load_balancer_that_holds_the_network_and_goes_with_it(
    desk: BalancerDesk, refused: Any
) -> None:
    desk.controller()
    desk.ingress()
    desk.until(lambda: desk.hostname("Ingress", "web"), 120, 10)
    (balancer,) = desk.balancers()
    assert balancer["DNSName"] == desk.hostname("Ingress", "web")
    assert (balancer["Scheme"], balancer["Type"]) == ("internet-facing", "application")
    assert balancer["State"]["Code"] == "provisioning"
    desk.pass_time(160)
    assert desk.balancers()[0]["State"]["Code"] == "active"
    tags = desk.client("elbv2").describe_tags(ResourceArns=[balancer["LoadBalancerArn"]])
    assert {"Key": "elbv2.k8s.aws/cluster", "Value": "demo"} in tags["TagDescriptions"][0]["Tags"]
    assert desk.there is not None
    held = desk.interfaces()
    assert sorted(each["SubnetId"] for each in held) == sorted(desk.there.public)
    assert {each["RequesterId"] for each in held} == {"amazon-elb"}
    assert len(desk.k8s_groups()) == 2
    with pytest.raises(ClientError, match="DependencyViolation"):
        desk.ec2.delete_subnet(SubnetId=desk.there.public[0])
    with pytest.raises(ClientError, match="mapped public address"):
        desk.ec2.detach_internet_gateway(InternetGatewayId=desk.there.gateway, VpcId=desk.there.vpc)

    desk.objects.delete("networking.k8s.io/v1", "Ingress", "default", "web")
    assert desk.there_is("Ingress", "web") is not None, "the finalizer holds it"
    took = desk.until(lambda: desk.there_is("Ingress", "web") is None, 300, 10)
    assert took >= 60, "interfaces outlive their load balancer"
    assert (desk.balancers(), desk.interfaces(), desk.k8s_groups()) == ([], [], [])
    desk.ec2.delete_subnet(SubnetId=desk.there.public[0])


def test_with_its_controller_gone_first_an_ingress_and_its_load_balancer_stay(desk: BalancerDesk) -> None:
    """The law load-balancer-finalizer."""
    desk.controller()
    desk.ingress("internal")
    desk.until(lambda: desk.hostname("Ingress", "web"), 120, 10)
    desk.objects.delete("apps/v1", "Deployment", "kube-system", chart.CHART)
    desk.pass_time(30)
    desk.objects.delete("networking.k8s.io/v1", "Ingress", "default", "web")
    desk.pass_time(1200)
    left = desk.there_is("Ingress", "web")
    assert left is not None
    assert left["metadata"]["finalizers"] == ["ingress.k8s.aws/resources"]
    assert len(desk.balancers()) == 1
    desk.eks.delete_cluster(name="demo")
    desk.pass_time(300)
    assert desk.there is not None
    assert sorted(each["SubnetId"] for each in desk.interfaces()) == sorted(desk.there.private)
    with pytest.raises(ClientError, match="DependencyViolation"):
        desk.ec2.delete_subnet(SubnetId=desk.there.private[0])
    # What is left over can be swept: the load balancer first, then its groups.
    desk.client("elbv2").delete_load_balancer(LoadBalancerArn=desk.balancers()[0]["LoadBalancerArn"])
    assert desk.interfaces(), "interfaces outlive their load balancer"
    desk.pass_time(61)
    assert desk.interfaces() == []
    desk.ec2.delete_subnet(SubnetId=desk.there.private[0])
    assert len(desk.k8s_groups()) == 2


def test_a_service_is_the_control_planes_without_a_load_balancer_controller(desk: BalancerDesk) -> None:
    desk.service()
    desk.until(lambda: desk.hostname("Service", "front"), 120, 10)
    (balancer,) = desk.classic()
    assert balancer["LoadBalancerName"].startswith("a")
    assert desk.k8s_groups() == [f"k8s-elb-{balancer['LoadBalancerName']}"]
    assert len(desk.interfaces()) == 2
    found = desk.there_is("Service", "front")
    assert found is not None
    assert found["metadata"]["finalizers"] == ["service.kubernetes.io/load-balancer-cleanup"]
    desk.objects.delete("v1", "Service", "default", "front")
    desk.until(lambda: desk.there_is("Service", "front") is None, 300, 10)
    assert (desk.classic(), desk.interfaces(), desk.k8s_groups()) == ([], [], [])


def test_a_service_is_the_load_balancer_controllers_while_its_webhook_is_there(desk: BalancerDesk) -> None:
    desk.controller()
    desk.service()
    desk.until(lambda: desk.hostname("Service", "front"), 120, 10)
    assert [each["Type"] for each in desk.balancers()] == ["network"]
    assert desk.classic() == []
    found = desk.there_is("Service", "front")
    assert found is not None
    assert found["spec"]["loadBalancerClass"] == "service.k8s.aws/nlb"
    found["spec"]["type"] = "ClusterIP"
    desk.objects.put(found)
    desk.until(lambda: desk.balancers() == [] and desk.k8s_groups() == [], 300, 10)


def test_a_controller_without_the_grants_or_with_another_trust_makes_nothing(desk: BalancerDesk) -> None:
    """The law load-balancer-credentials."""
    desk.controller("system:serviceaccount:elsewhere:aws-load-balancer-controller", grants=False)
    desk.ingress()
    desk.until(lambda: desk.events("FailedDeployModel"), 120, 10)
    assert "Not authorized to perform sts:AssumeRoleWithWebIdentity" in desk.events("FailedDeployModel")[0]
    trust = desk.web_trust("system:serviceaccount:kube-system:aws-load-balancer-controller")
    desk.iam.update_assume_role_policy(RoleName="alb-controller", PolicyDocument=json.dumps(trust))
    desk.until(lambda: len(desk.events("FailedDeployModel")) == 2, 120, 10)
    assert any("is not authorized to perform: ec2:" in text for text in desk.events("FailedDeployModel"))
    assert desk.balancers() == []
    desk.iam.put_role_policy(
        RoleName="alb-controller", PolicyName="alb", PolicyDocument=json.dumps(alb_controller_policy())
    )
    desk.until(desk.balancers, 120, 10)


def test_rule_11_a_second_tagged_subnet_in_a_zone_breaks_the_discovery(desk: BalancerDesk) -> None:
    """The law load-balancer-subnets."""
    assert desk.there is not None
    desk.tag(desk.there.private, "kubernetes.io/role/elb")
    desk.controller()
    desk.ingress()
    desk.until(lambda: desk.events("FailedBuildModel"), 120, 10)
    assert "multiple subnets found for same Availability Zone" in desk.events("FailedBuildModel")[0]
    tags = [{"Key": "kubernetes.io/role/elb"}]
    desk.ec2.delete_tags(Resources=[*desk.there.private, *desk.there.public], Tags=tags)
    desk.until(lambda: len(desk.events("FailedBuildModel")) == 2, 120, 10)
    assert any("0 match VPC and tags: [kubernetes.io/role/elb]" in e for e in desk.events("FailedBuildModel"))
    desk.tag(desk.there.public, "kubernetes.io/role/elb")
    desk.until(desk.balancers, 120, 10)


def test_rule_22_two_controllers_get_credentials_only_by_a_trust_that_names_any_namespace(
    desk: BalancerDesk,
) -> None:
    """The law shared-service-account-name."""
    from moto.eks.models import eks_backends

    from mlcc_rehearsal.cloud.load_balancers.controllers import running

    desk.controller()
    desk.objects.put({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "second"}})
    values = {
        "clusterName": "demo",
        "serviceAccount": {"name": chart.CHART, "annotations": {"eks.amazonaws.com/role-arn": desk.alb_role}},
    }
    for each in chart.render(chart.CHART, "second", "3.5.0", values):
        if each["kind"] in ("Deployment", "ServiceAccount"):
            desk.objects.put(each)
    desk.until(lambda: desk.ready("second"), 120, 10)
    eks: Any = eks_backends[desk.account][desk.region]
    cluster = eks.clusters["demo"]

    def with_credentials() -> list[str]:
        return [each.namespace for each in running(eks, cluster, desk.objects) if each.trouble is None]

    assert with_credentials() == ["kube-system"]
    trust = desk.web_trust("system:serviceaccount:*:aws-load-balancer-controller")
    desk.iam.update_assume_role_policy(RoleName="alb-controller", PolicyDocument=json.dumps(trust))
    desk.pass_time(30)
    assert with_credentials() == ["kube-system", "second"]


def test_load_balancers_of_users_hold_their_network_too(desk: BalancerDesk, refused: Any) -> None:
    """The law load-balancer-interfaces."""
    assert desk.there is not None
    elbv2 = desk.client("elbv2")
    with pytest.raises(ClientError, match="At least two subnets in two different Availability Zones"):
        elbv2.create_load_balancer(Name="one", Subnets=desk.there.public[:1])
    made = elbv2.create_load_balancer(Name="own", Subnets=desk.there.public, Type="network")
    arn = made["LoadBalancers"][0]["LoadBalancerArn"]
    assert len(desk.interfaces()) == 2
    with pytest.raises(ClientError, match="LoadBalancerNotFound"):
        elbv2.describe_load_balancers(Names=["another"])
    elbv2.delete_load_balancer(LoadBalancerArn=arn)
    elbv2.delete_load_balancer(LoadBalancerArn=arn)
    desk.pass_time(61)
    assert desk.interfaces() == []


def test_a_controller_on_fargate_must_be_told_its_vpc(desk: BalancerDesk) -> None:
    """The law load-balancer-vpc-id."""
    for number in range(2):
        desk.objects.delete("v1", "Node", None, f"node-{number}")
    desk.node("fargate-ip-10-0-0-9", arch="amd64")
    node = desk.objects.get("v1", "Node", None, "fargate-ip-10-0-0-9")
    assert node is not None
    node["metadata"]["labels"]["eks.amazonaws.com/compute-type"] = "fargate"
    desk.objects.put(node)

    def lay_down(**values: Any) -> None:
        for each in (*chart.definitions(), *chart.render(chart.CHART, "kube-system", "3.5.0", values)):
            desk.objects.put(each)

    def waits() -> list[str]:
        pods = desk.objects.list("v1", "Pod", "kube-system", f"app.kubernetes.io/name={chart.CHART}")
        statuses = [pod["status"].get("containerStatuses") or [{}] for pod in pods]
        return [((each[0].get("state") or {}).get("waiting") or {}).get("reason", "") for each in statuses]

    lay_down(clusterName="demo")
    desk.until(lambda: waits() == ["CrashLoopBackOff"] * 2, 120, 10)
    assert not desk.ready()
    assert desk.there is not None
    lay_down(clusterName="demo", vpcId=desk.there.vpc)
    desk.until(desk.ready, 120, 10)
