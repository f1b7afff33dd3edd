"""What the model learns, one kind of task a file: each draws an exchange, a message of the user and the right reply."""
