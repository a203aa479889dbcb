"""What is given up because plain Python is faster."""
