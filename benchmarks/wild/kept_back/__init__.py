"""Drivers that are measured and not looked at: what they show is what stator does for programs that it was not made for.

Whoever finds something to mend in one of them moves it to `drivers` first.
"""
