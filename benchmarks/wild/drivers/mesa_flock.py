"""Agents in a plane that flock, hunt and tire, with their data collected at each step."""

import mesa
import numpy as np

PACKAGE = "mesa"

SIDE = 60.0


class Bird(mesa.Agent):
    def __init__(self, model, position, heading):
        super().__init__(model)
        self.position, self.heading, self.energy = position, heading, 10.0

    def step(self):
        near = self.model.near(self, 8.0)
        if near:
            centre = np.mean([b.position for b in near], axis=0) - self.position
            course = np.sum([b.heading for b in near], axis=0)
            apart = np.zeros(2)
            for other in near:
                gap = self.position - other.position
                if gap @ gap < 4.0:
                    apart += gap
            self.heading = self.heading + 0.03 * centre + 0.05 * course + 0.3 * apart
            self.heading /= np.linalg.norm(self.heading)
        self.position = (self.position + self.heading) % SIDE
        self.energy += self.model.rng.normal(0.05, 0.2) - 0.04 * len(near)


class Hawk(mesa.Agent):
    def __init__(self, model, position):
        super().__init__(model)
        self.position, self.eaten = position, 0

    def step(self):
        birds = self.model.agents_by_type[Bird]
        prey = min(birds, key=lambda b: float(np.sum((b.position - self.position) ** 2)))
        way = prey.position - self.position
        length = np.linalg.norm(way)
        self.position = (self.position + 1.3 * way / max(length, 1e-9)) % SIDE
        if length < 1.0 and len(birds) > 20:
            prey.remove()
            self.eaten += 1


class Flock(mesa.Model):
    def __init__(self, birds, hawks, seed):
        super().__init__(seed=seed)
        for _ in range(birds):
            heading = self.rng.normal(size=2)
            Bird(self, self.rng.uniform(0, SIDE, 2), heading / np.linalg.norm(heading))
        for _ in range(hawks):
            Hawk(self, self.rng.uniform(0, SIDE, 2))
        self.data = mesa.DataCollector(
            model_reporters={
                "birds": lambda m: len(m.agents_by_type[Bird]),
                "order": lambda m: float(
                    np.linalg.norm(np.mean(m.agents_by_type[Bird].get("heading"), axis=0))
                ),
            },
            agenttype_reporters={Bird: {"energy": "energy"}},
        )

    def near(self, bird, radius):
        others = [b for b in self.agents_by_type[Bird] if b is not bird]
        gaps = np.array([b.position for b in others]) - bird.position
        return [others[i] for i in np.flatnonzero(np.einsum("ij,ij->i", gaps, gaps) < radius * radius)]

    def step(self):
        self.agents_by_type[Bird].shuffle_do("step")
        self.agents_by_type[Hawk].do("step")
        self.data.collect(self)


def prepare():
    return 60, 3, 12


def drive(birds, hawks, seed):
    model = Flock(birds, hawks, seed)
    for _ in range(30):
        model.step()
    energies = model.data.get_agenttype_vars_dataframe(Bird)["energy"].to_numpy()
    groups = model.agents_by_type[Bird].groupby(lambda b: int(b.position[0] // 20)).count()
    return (
        model.data.model_vars["birds"],
        model.data.model_vars["order"],
        energies,
        sorted(groups.items()),
        [h.eaten for h in model.agents_by_type[Hawk]],
        np.array(model.agents_by_type[Bird].get("position")),
    )
