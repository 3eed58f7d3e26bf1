"""What is true in AWS now, read through boto3. Imports no Pulumi; `decisions` is pure."""
