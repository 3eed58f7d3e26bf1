"""Addresses of the service (moto looks for this module beside ``models``)."""

from mlcc_rehearsal.cloud.cloudformation.responses import RehearsedCloudFormationResponse

url_bases = [r"https?://cloudformation\.(.+)\.amazonaws\.com"]

url_paths = {
    "{0}/$": RehearsedCloudFormationResponse.dispatch,
    "{0}/cloudformation_(?P<region>[^/]+)/cfnresponse$": RehearsedCloudFormationResponse.cfnresponse,
}
