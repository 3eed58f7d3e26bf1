"""The rehearsal cloud: an AWS API in process that behaves like AWS where it matters.

>>> from mlcc_rehearsal.cloud import Cloud, CloudOptions
>>> cloud = Cloud.start(CloudOptions(speed=600))          # doctest: +SKIP
>>> boto3.client("eks", endpoint_url=cloud.endpoint, …)    # doctest: +SKIP
>>> cloud.stop()                                           # doctest: +SKIP

What it models beyond moto is listed by ``python -m mlcc_rehearsal.cloud laws`` and, for time, by
``python -m mlcc_rehearsal.cloud durations``.
"""

from mlcc_rehearsal.cloud.options import CloudOptions
from mlcc_rehearsal.cloud.server import Cloud

__all__ = ["Cloud", "CloudOptions"]
