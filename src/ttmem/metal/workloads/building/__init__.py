"""What workloads are made of: steps, operations, sizes of tensors, tables of models."""
