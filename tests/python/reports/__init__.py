"""What people read: messages, counters, explanations, the dump."""
