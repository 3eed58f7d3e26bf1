"""The exceptions of Amazon EKS, with the members its model gives them."""

from __future__ import annotations

from typing import Any

from mlcc_rehearsal.cloud.errors import AwsError


class ResourceNotFoundException(AwsError):  # noqa: N818 - its name at AWS
    """404: what is named does not exist."""

    def __init__(self, message: str, **members: Any) -> None:
        super().__init__("ResourceNotFoundException", message, **members)


class ResourceInUseException(AwsError):  # noqa: N818 - its name at AWS
    """409: it exists already, or is being changed."""

    def __init__(self, message: str, **members: Any) -> None:
        super().__init__("ResourceInUseException", message, **members)


class InvalidParameterException(AwsError):  # noqa: N818 - its name at AWS
    """400: a parameter is wrong."""

    def __init__(self, message: str, **members: Any) -> None:
        super().__init__("InvalidParameterException", message, **members)


class InvalidRequestException(AwsError):  # noqa: N818 - its name at AWS
    """400: the request does not fit the state of what it names."""

    def __init__(self, message: str, **members: Any) -> None:
        super().__init__("InvalidRequestException", message, **members)


class UnsupportedAvailabilityZoneException(AwsError):  # noqa: N818 - its name at AWS
    """400: a subnet lies in a zone where EKS makes no control planes; ``validZones`` lists the others."""

    def __init__(self, message: str, *, valid_zones: list[str], **members: Any) -> None:
        super().__init__("UnsupportedAvailabilityZoneException", message, validZones=valid_zones, **members)
