"""Stand-in for pulumi-aws: a table of resource types over boto3.

It behaves like the published provider, which is a bridged Terraform provider: what it checks,
fills in, compares, waits for, retries and says. Where a behaviour is taken from is said beside
it; "terraform-provider-aws" is github.com/hashicorp/terraform-provider-aws, "the bridge" is
github.com/pulumi/pulumi-terraform-bridge, "pulumi-aws" is github.com/pulumi/pulumi-aws.

schema        property names and types, by reflection on the installed pulumi_aws
documents     JSON and policy documents: equal or not
definition    what the table says of a resource type; a call's working set
checking      Check: valid inputs, defaults, names, tags
difference    Diff: old state against new inputs
state         outputs and inputs from what the API answered
calling       AWS calls: errors in the provider's words, retries, waits in modelled time
configuration the provider's own settings
catalogue     every resource type and function there is
servicer      the protocol, generic
resources/    one module an AWS service area: the table itself
functions/    the data sources ("invokes")
"""
