"""What lies before the user: six views, two lines around them, and what every key does to it. No toolkit here."""
