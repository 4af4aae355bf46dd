"""What was measured: rows with their targets, the table they make, and the machine they are from."""
