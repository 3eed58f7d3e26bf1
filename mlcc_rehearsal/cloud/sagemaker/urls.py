"""Addresses of the service (moto looks for this module beside ``models``)."""

from mlcc_rehearsal.cloud.sagemaker.responses import RehearsedSageMakerResponse

url_bases = [r"https?://api\.sagemaker\.(.+)\.amazonaws.com"]

url_paths = {"{0}/$": RehearsedSageMakerResponse.dispatch}
