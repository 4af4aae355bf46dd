"""What an open device of the model holds: allocators, queues, rings and caches, its accounts, and reports of them."""
