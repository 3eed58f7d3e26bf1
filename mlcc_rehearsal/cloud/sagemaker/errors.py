"""The exceptions of SageMaker."""

from __future__ import annotations

from mlcc_rehearsal.cloud.errors import AwsError


class ValidationException(AwsError):  # noqa: N818 - its name at AWS
    """400: a parameter is wrong, alone or in what it names."""

    def __init__(self, message: str) -> None:
        super().__init__("ValidationException", message, status=400)


class ResourceNotFound(AwsError):  # noqa: N818 - its name at AWS
    """400: what is named does not exist."""

    def __init__(self, message: str) -> None:
        super().__init__("ResourceNotFound", message)


class ResourceInUse(AwsError):  # noqa: N818 - its name at AWS
    """400: the name is taken."""

    def __init__(self, message: str) -> None:
        super().__init__("ResourceInUse", message)


class ResourceLimitExceeded(AwsError):  # noqa: N818 - its name at AWS
    """400: a quota does not allow it."""

    def __init__(self, message: str) -> None:
        super().__init__("ResourceLimitExceeded", message)


class ConflictException(AwsError):  # noqa: N818 - its name at AWS
    """409: the cluster is being changed."""

    def __init__(self, message: str) -> None:
        super().__init__("ConflictException", message)
