"""Addresses of the service (moto looks for this module beside ``models``)."""

from mlcc_rehearsal.cloud.iam.responses import RehearsedIamResponse

url_bases = [r"https?://iam\.(.*\.)?amazonaws\.com"]

url_paths = {"{0}/$": RehearsedIamResponse.dispatch}
