"""The answering side: what a monitor may ask, and how a question's parameters are read."""
