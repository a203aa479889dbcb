"""Python inside traces: calls, closures, objects, containers, guards and exits."""
