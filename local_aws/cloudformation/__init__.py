"""CloudFormation on this machine: change sets, and the resource types that moto lacks."""
