"""torch's tensors on the CPU: a transformer block, eager and compiled, and the time of a first call beside torch.compile's."""
