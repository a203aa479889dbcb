"""Neighbours on a grid who move away, and a disease in a network, each run with several parameters."""

import agentpy as ap
import networkx as nx
import numpy as np

PACKAGE = "agentpy"


class Neighbour(ap.Agent):
    def setup(self):
        self.group = self.model.random.choice(range(self.p.groups))
        self.alike, self.happy = 0.0, False

    def look(self):
        near = self.model.grid.neighbors(self)
        alike = len([n for n in near if n.group == self.group])
        self.alike = alike / len(near) if len(near) > 0 else 0.0
        self.happy = self.alike >= self.p.wanted

    def leave(self):
        self.model.grid.move_to(self, self.model.random.choice(self.model.grid.empty))


class Town(ap.Model):
    def setup(self):
        self.grid = ap.Grid(self, (self.p.size, self.p.size), track_empty=True)
        self.people = ap.AgentList(self, int(0.85 * self.p.size**2), Neighbour)
        self.grid.add_agents(self.people, random=True, empty=True)

    def update(self):
        self.people.look()
        self.unhappy = self.people.select(self.people.happy == False)  # noqa: E712
        self.record("unhappy", len(self.unhappy))
        if len(self.unhappy) == 0:
            self.stop()

    def step(self):
        self.unhappy.leave()

    def end(self):
        self.report("alike", float(np.mean(list(self.people.alike))))


class Person(ap.Agent):
    def setup(self):
        self.condition = 0

    def meet(self):
        for n in self.network.neighbors(self):
            if n.condition == 0 and self.p.infection > self.model.nprandom.random():
                n.condition = 1
        if self.p.recovery > self.model.nprandom.random():
            self.condition = 2


class Disease(ap.Model):
    def setup(self):
        graph = nx.watts_strogatz_graph(self.p.people, 6, 0.2, seed=self.model.random.randrange(10**6))
        self.agents = ap.AgentList(self, self.p.people, Person)
        self.network = self.agents.network = ap.Network(self, graph)
        self.network.add_agents(self.agents, self.network.nodes)
        self.agents.random(4).condition = 1

    def update(self):
        counts = np.bincount(np.array(list(self.agents.condition)), minlength=3) / self.p.people
        for name, share in zip(("S", "I", "R"), counts):
            self[name] = float(share)
            self.record(name)
        if counts[1] == 0.0:
            self.stop()

    def step(self):
        self.agents.select(self.agents.condition == 1).meet()

    def end(self):
        self.report("peak", max(self.log["I"]))
        self.report("untouched", self.S)


def prepare():
    return ((0.3, 0.45), (0.1, 0.25))


def drive(wanted, infections):
    out = []
    for share in wanted:
        town = Town({"size": 22, "groups": 2, "wanted": share, "steps": 12, "seed": 4})
        results = town.run(display=False)
        out.append((list(town.log["unhappy"]), results.reporters["alike"].tolist()))
    for infection in infections:
        disease = Disease({"people": 240, "infection": infection, "recovery": 0.2, "steps": 25, "seed": 9})
        results = disease.run(display=False)
        table = results.variables["Disease"][["S", "I", "R"]].to_numpy()
        out.append((table, results.reporters["peak"].tolist(), results.reporters["untouched"].tolist()))
    return out
