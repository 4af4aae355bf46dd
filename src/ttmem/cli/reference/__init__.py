"""What is made from the verbs and flags themselves: the manual page, and completion in a shell."""
