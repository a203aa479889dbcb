"""Programs with loops that are to run as regions, and tests of them.

stencils        time loops of array statements
factorizations  linear algebra, by elements, rows and dots
assorted        scalar nests, gathers, masks, arrays whose extents depend on data
programs        the table of them: inputs, sizes and how many regions are expected
"""
