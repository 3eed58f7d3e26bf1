"""Amazon EKS as far as the product and its plugins use it, with time and with AWS's refusals."""
