"""A small layered drawing of a graph as SVG: operands above, results below, every edge downwards.

Layers are longest paths from the inputs; the order inside a layer comes from a few sweeps of the median rule; long
edges are bent through the layers they cross. The same graph always gives the same picture.
"""

from __future__ import annotations

import html
import itertools
import re
from collections import defaultdict
from collections.abc import Mapping

from .graphtext import Node, Text

WIDTH, HEIGHT, GAP_X, GAP_Y, MARGIN = 7.2, 36, 18, 34, 16  # WIDTH is that of one character
SWEEPS = 6
HUES = (205, 150, 270, 95, 180, 310, 55, 235)  # none of them looks like the red of guards


class Drawing:
    """Positions for the nodes of one graph.

    Scalar constants are written into the nodes that use them instead of being drawn, and guards on sizes alone are
    left out.
    """

    def __init__(self, graph: Text) -> None:
        by_id = {n.id: n for n in graph.nodes}
        constants = {n.id: n for n in graph.nodes if n.kind == "const"}
        self.nodes: dict[int, Node] = {
            i: n for i, n in by_id.items() if i not in constants and (n.kind != "guard" or n.operands)
        }
        self.parents = {
            i: [p for p in dict.fromkeys(n.operands) if p in self.nodes] for i, n in self.nodes.items()
        }
        self.titles = {i: self._title(n, constants) for i, n in self.nodes.items()}
        self.results = set(graph.results)
        self._layers()
        self._order()
        self._place()

    @staticmethod
    def _title(node: Node, constants: Mapping[int, Node]) -> tuple[str, str]:
        label = node.label if len(node.label) <= 26 else node.label[:25] + "…"
        if node.kind in ("pointwise", "host", "store", "alloc"):
            values = [constants[o].label if o in constants else "·" for o in node.operands]
            if any(v != "·" for v in values):
                label += f" ({', '.join(values)})"
        if node.kind == "guard":
            return label, f"else {node.exit}"
        brief = re.match(r"[^\[ ]*(?:\[[^\]]*\])?", node.type)
        return label, f"%{node.id}  {brief[0].replace(' ', '') if brief else ''}"

    def _layers(self) -> None:
        layer: dict[int, int] = {}
        for i in sorted(self.nodes):
            layer[i] = 1 + max((layer[p] for p in self.parents[i] if p in layer), default=-1)
        # Inputs move down to just above their first use: shorter edges.
        uses = defaultdict(list)
        for i, parents in self.parents.items():
            for p in parents:
                uses[p].append(i)
        for i in sorted(self.nodes, reverse=True):
            if not self.parents[i] and uses[i]:
                layer[i] = max(0, min(layer[u] for u in uses[i]) - 1)
        self.layer = layer
        # A chain of points for each edge, one per layer it crosses.
        self.rows: dict[int, list[tuple[int, ...]]] = defaultdict(list)
        for i in sorted(self.nodes):
            self.rows[layer[i]].append((i,))
        self.chains: list[list[tuple[int, ...]]] = []
        for i in sorted(self.nodes):
            for p in self.parents[i]:
                chain: list[tuple[int, ...]] = [(p,)]
                for between in range(layer[p] + 1, layer[i]):
                    bend = (p, i, between)
                    self.rows[between].append(bend)
                    chain.append(bend)
                self.chains.append([*chain, (i,)])

    def _order(self) -> None:
        above, below = defaultdict(list), defaultdict(list)
        for chain in self.chains:
            for a, b in itertools.pairwise(chain):
                below[a].append(b)
                above[b].append(a)
        last = max(self.rows, default=0)
        for sweep in range(SWEEPS):
            rows = range(1, last + 1) if sweep % 2 == 0 else range(last - 1, -1, -1)
            neighbours = above if sweep % 2 == 0 else below
            for r in rows:
                place = {x: k for k, x in enumerate(self.rows[r - 1 if sweep % 2 == 0 else r + 1])}
                keys = {}
                for k, x in enumerate(self.rows[r]):
                    at = sorted(place[y] for y in neighbours[x] if y in place)
                    keys[x] = at[len(at) // 2] if at else k
                self.rows[r].sort(key=lambda x: keys[x])
        self.above, self.below = above, below

    def _width(self, x: tuple[int, ...]) -> float:
        if len(x) > 1:
            return 4
        return 18 + WIDTH * max(len(t) for t in self.titles[x[0]])

    def _place(self) -> None:
        """Horizontal positions: packed rows, then pulled towards the mean of their neighbours, never overlapping."""
        self.x: dict[tuple[int, ...], float] = {}
        for row in self.rows.values():
            at = 0.0
            for x in row:
                self.x[x] = at + self._width(x) / 2
                at += self._width(x) + GAP_X
        both = {x: self.above[x] + self.below[x] for x in self.x}
        for sweep in range(4 * SWEEPS):
            for r in sorted(self.rows, reverse=bool(sweep % 2)):
                self._pull(
                    self.rows[r], both if sweep > SWEEPS else self.above if sweep % 2 == 0 else self.below
                )
        left = min((self.x[x] - self._width(x) / 2 for row in self.rows.values() for x in row), default=0)
        for x in self.x:
            self.x[x] += MARGIN - left
        self.width = MARGIN + max((self.x[x] + self._width(x) / 2 for x in self.x), default=0)
        self.height = 2 * MARGIN + (max(self.rows, default=0) + 1) * (HEIGHT + GAP_Y) - GAP_Y

    def _pull(self, row: list[tuple[int, ...]], neighbours: Mapping) -> None:
        """Moves a row's members to the mean of their neighbours as far as their order and widths allow.

        Members that would overlap form a block, which sits at the mean of its members' wishes.
        """
        blocks: list[
            tuple[float, float, list[tuple[int, ...]]]
        ] = []  # sum of wishes for the left edge, weight, members
        for x in row:
            near = neighbours[x]
            # The bends of long edges weigh more, and follow each other rather than the nodes at the ends.
            weight = 4.0 if len(x) > 1 else 1.0
            if len(x) > 1 and (bends := [y for y in near if len(y) > 1]):
                near = bends
            wish = sum(self.x[y] for y in near) / len(near) if near else self.x[x]
            blocks.append((weight * (wish - self._width(x) / 2), weight, [x]))
            while len(blocks) > 1:
                (s0, w0, m0), (s1, w1, m1) = blocks[-2:]
                length = sum(self._width(y) + GAP_X for y in m0)
                if s0 / w0 + length <= s1 / w1:
                    break
                blocks[-2:] = [(s0 + s1 - w1 * length, w0 + w1, m0 + m1)]
        for total, weight, members in blocks:
            at = total / weight
            for x in members:
                self.x[x] = at + self._width(x) / 2
                at += self._width(x) + GAP_X

    def _y(self, layer: int) -> float:
        return MARGIN + layer * (HEIGHT + GAP_Y)

    def _edge(self, chain: list[tuple[int, ...]]) -> str:
        points = []
        for x in chain:
            r = self.layer[x[0]] if len(x) == 1 else x[2]
            top = self._y(r)
            if x is chain[0]:
                points.append((self.x[x], top + HEIGHT))
            elif x is chain[-1]:
                points.append((self.x[x], top))
            else:
                points += [(self.x[x], top), (self.x[x], top + HEIGHT)]
        path = f"M{points[0][0]:.1f} {points[0][1]:.1f}"
        for (x0, y0), (x1, y1) in itertools.pairwise(points):
            middle = (y0 + y1) / 2
            path += (
                f"L{x1:.1f} {y1:.1f}"
                if abs(x0 - x1) < 0.1
                else f"C{x0:.1f} {middle:.1f} {x1:.1f} {middle:.1f} {x1:.1f} {y1:.1f}"
            )
        return f'<path class="edge" data-from="{chain[0][0]}" data-to="{chain[-1][0]}" d="{path}"/>'

    def svg(self, nest_of: Mapping[int, str]) -> str:
        """The picture. `nest_of` names the kernel that computes a node, which tints it."""
        parts = [f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {self.width:.0f} {self.height:.0f}" '
                 f'width="{self.width:.0f}" height="{self.height:.0f}" role="img" aria-label="graph">']  # fmt: skip
        parts += [self._edge(chain) for chain in self.chains]
        tints = {
            name: k
            for k, name in enumerate(dict.fromkeys(nest_of[i] for i in sorted(self.nodes) if i in nest_of))
        }
        for i in sorted(self.nodes):
            node, (title, under) = self.nodes[i], self.titles[i]
            width = self._width((i,))
            x, y = self.x[(i,)] - width / 2, self._y(self.layer[i])
            classes = f"node {node.kind}" + (" result" if i in self.results else "")
            nest = nest_of.get(i)
            tint = (
                f' data-nest="{html.escape(nest)}" style="--tint:{HUES[tints[nest] % len(HUES)]}"'
                if nest is not None
                else ""
            )
            parts.append(
                f'<g class="{classes}" data-n="{i}"{tint}><title>{html.escape(node.text)}</title>'
                f'<rect x="{x:.1f}" y="{y:.1f}" width="{width:.1f}" height="{HEIGHT}" rx="{HEIGHT / 2 if node.kind == "input" else 5}"/>'
                f'<text x="{self.x[(i,)]:.1f}" y="{y + 15:.1f}">{html.escape(title)}</text>'
                f'<text class="type" x="{self.x[(i,)]:.1f}" y="{y + 29:.1f}">{html.escape(under)}</text></g>'
            )
        return "".join(parts) + "</svg>"
