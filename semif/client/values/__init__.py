"""What programs have, as the wire has it: states and the names of options."""
