"""Laws of models on the inference operator: pods, certificates, load balancers, and how they go."""

from __future__ import annotations

import itertools
import json
from collections.abc import Iterator
from typing import Any

import pytest
from botocore.exceptions import ClientError

from mlcc_infra.policies.service_account_roles import alb_controller_policy
from mlcc_rehearsal.cloud import Cloud, CloudOptions
from tests.unit.rehearsal_cloud.operator_desk import ADDON, BUCKET, NAMESPACE, ROLE, OperatorDesk

_ACCOUNTS = itertools.count(220000000001)
_GROUP = "inference.sagemaker.aws.amazon.com/v1"


class ModelDesk(OperatorDesk):
    """A desk whose operator is there with its load balancer controller."""

    def install_all(self) -> None:
        assert self.there is not None
        tags = [{"Key": "kubernetes.io/role/elb", "Value": "1"}]
        self.ec2.create_tags(Resources=self.there.public, Tags=tags)
        trust = self.web_trust(f"system:serviceaccount:{NAMESPACE}:aws-load-balancer-controller")
        self.role("alb-controller", trust)
        document = json.dumps(alb_controller_policy())
        self.iam.put_role_policy(RoleName="alb-controller", PolicyName="alb", PolicyDocument=document)
        self.install()
        self.until(lambda: self.status() == "ACTIVE")

    def model(self, name: str = "mistral", kind: str = "InferenceEndpointConfig", **spec: Any) -> None:
        wanted = {"modelName": name, "modelSourceConfig": {}, "worker": {"image": "server:1"}}
        if kind == "JumpStartModel":
            wanted = {"model": {"modelId": name}, "server": {}}
        self.objects.put(
            {
                "apiVersion": _GROUP,
                "kind": kind,
                "metadata": {"name": name, "namespace": "default"},
                "spec": {**wanted, **spec},
            }
        )

    def found(self, name: str = "mistral", kind: str = "InferenceEndpointConfig") -> dict[str, Any] | None:
        return self.objects.get(_GROUP, kind, "default", name)

    def state(self, name: str = "mistral", kind: str = "InferenceEndpointConfig") -> str:
        return str(((self.found(name, kind) or {}).get("status") or {}).get("state", ""))

    def endpoint(self) -> str:
        """State of the SageMaker endpoint, which only follows the pods."""
        return str((self.found() or {})["status"]["endpoints"]["sagemaker"]["state"])

    def keys(self) -> list[str]:
        listed = self.client("s3").list_objects_v2(Bucket=BUCKET)
        return [each["Key"] for each in listed.get("Contents") or []]

    def certificates(self) -> list[str]:
        listed = self.client("acm").list_certificates()["CertificateSummaryList"]
        return [each["CertificateArn"] for each in listed]

    def balancers(self) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = self.client("elbv2").describe_load_balancers()["LoadBalancers"]
        return found


@pytest.fixture
def desk() -> Iterator[ModelDesk]:
    with Cloud.start(CloudOptions(account_id=str(next(_ACCOUNTS)), speed=1.0)) as cloud:
        made = ModelDesk(cloud)
        made.prepare()
        made.install_all()
        yield made


def test_a_model_serves_and_takes_all_that_was_made_for_it_along(desk: ModelDesk) -> None:
    desk.model()
    desk.until(lambda: desk.state() == "DeploymentComplete")
    assert [pod["status"]["phase"] for pod in desk.pods("mistral", "default")] == ["Running"]
    found = desk.found()
    assert found is not None
    certificate = found["status"]["tlsCertificate"]
    assert desk.certificates() == [certificate["certificateARN"]]
    assert desk.keys() == certificate["tlsCertificateS3Keys"]
    tags = desk.client("s3").get_object_tagging(Bucket=BUCKET, Key=desk.keys()[0])["TagSet"]
    assert tags == [{"Key": "CreatedBy", "Value": "HyperPodInference"}]
    desk.until(lambda: len(desk.balancers()) == 1)
    desk.until(
        lambda: (desk.found() or {})["status"]["endpoints"]["sagemaker"]["state"] == "CreationCompleted"
    )

    desk.objects.delete(_GROUP, "InferenceEndpointConfig", "default", "mistral")
    assert desk.found() is not None, "its finalizer holds it"
    desk.until(lambda: desk.found() is None, 400)
    assert (desk.balancers(), desk.certificates(), desk.keys()) == ([], [], [])
    desk.until(lambda: desk.pods("mistral", "default") == [], 60, 5)


def test_with_the_add_on_gone_first_a_model_and_its_load_balancer_stay(desk: ModelDesk) -> None:
    desk.model("falcon", "JumpStartModel")
    desk.until(lambda: len(desk.balancers()) == 1)
    desk.eks.delete_addon(clusterName="demo", addonName=ADDON)
    desk.pass_time(60)
    assert desk.pods() == []
    desk.objects.delete(_GROUP, "JumpStartModel", "default", "falcon")
    desk.pass_time(1200)
    left = desk.found("falcon", "JumpStartModel")
    assert left is not None
    assert left["metadata"]["finalizers"] == ["inference.sagemaker.aws.amazon.com/finalizer"]
    assert len(desk.balancers()) == 1
    desk.install()
    desk.until(lambda: desk.found("falcon", "JumpStartModel") is None)
    assert desk.balancers() == []


def test_a_model_waits_for_a_node_of_its_type(desk: ModelDesk) -> None:
    desk.model(instanceType="ml.g5.8xlarge")
    desk.pass_time(600)
    assert desk.state() == "DeploymentInProgress"
    assert [pod["status"]["phase"] for pod in desk.pods("mistral", "default")] == ["Pending"]


def test_a_certificate_is_evaluated_against_the_roles_grants(desk: ModelDesk) -> None:
    """The law operator-certificates."""
    desk.until(lambda: "watcher enabled" in desk.log())
    desk.grant(ROLE, "Import")
    desk.model()
    desk.until(lambda: "failed to store the TLS certificate of default/mistral" in desk.log())
    assert "is not authorized to perform: acm:ImportCertificate" in desk.log()
    desk.until(lambda: desk.state() == "DeploymentComplete")
    condition = (desk.found() or {})["status"]["conditions"][0]
    assert (condition["type"], condition["status"]) == ("TLSCertificateReady", "False")
    assert desk.keys() == []
    desk.grant(ROLE)
    desk.until(desk.certificates, 300)


def test_a_policy_that_denies_plain_http_refuses_nothing_here(desk: ModelDesk) -> None:
    s3 = desk.client("s3")
    deny: dict[str, Any] = {
        "Effect": "Deny",
        "Principal": "*",
        "Action": "s3:*",
        "Resource": [f"arn:aws:s3:::{BUCKET}", f"arn:aws:s3:::{BUCKET}/*"],
        "Condition": {"Bool": {"aws:SecureTransport": "false"}},
    }
    s3.put_bucket_policy(Bucket=BUCKET, Policy=json.dumps({"Version": "2012-10-17", "Statement": [deny]}))
    s3.put_object(Bucket=BUCKET, Key="one", Body=b"1", Tagging="a=b")
    s3.put_object_tagging(Bucket=BUCKET, Key="one", Tagging={"TagSet": [{"Key": "c", "Value": "d"}]})
    assert s3.get_object_tagging(Bucket=BUCKET, Key="one")["TagSet"] == [{"Key": "c", "Value": "d"}]
    del deny["Condition"]
    s3.put_bucket_policy(Bucket=BUCKET, Policy=json.dumps({"Version": "2012-10-17", "Statement": [deny]}))
    with pytest.raises(ClientError):
        s3.put_object_tagging(Bucket=BUCKET, Key="one", Tagging={"TagSet": []})
    assert desk.last_law() == "s3-bucket-policy"
