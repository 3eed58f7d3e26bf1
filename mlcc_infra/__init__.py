"""mlcc-infra: the AWS infrastructure that ml-container-creator deploys models to, as a Pulumi program.

The library behind ``pulumi up -s mlcc-<profile>`` and the ``mlcc-infra`` command. Importing this package,
or any module of it, calls nothing on AWS and starts nothing.
"""

__version__ = "0.1.0"
