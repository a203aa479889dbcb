"""A cart with a pole, a pendulum and a lake of ice: policies found by search, by planning and by learning."""

import gymnasium
import numpy as np

PACKAGE = "gymnasium"


def prepare():
    return (np.random.default_rng(77),)


def balance(env, weights, seed):
    seen, _ = env.reset(seed=seed)
    total = 0.0
    while True:
        seen, reward, fell, late, _ = env.step(int(seen @ weights > 0.0))
        total += float(reward)
        if fell or late:
            return total


def search(rng):
    """Cross-entropy search of a linear policy."""
    env = gymnasium.make("CartPole-v1", max_episode_steps=120)
    mean, deviation, progress = np.zeros(4), np.ones(4), []
    for round_ in range(6):
        tried = mean + deviation * rng.normal(size=(14, 4))
        scores = np.array([balance(env, w, round_) for w in tried])
        best = tried[np.argsort(scores, kind="stable")[-3:]]
        mean, deviation = best.mean(axis=0), best.std(axis=0) + 0.05
        progress.append((float(scores.mean()), float(scores.max())))
    env.close()
    return mean, progress


def swing(rng):
    """A pendulum, held by a rule on its energy that has its observations scaled and its actions clipped."""
    env = gymnasium.make("Pendulum-v1", max_episode_steps=200)
    env = gymnasium.wrappers.ClipAction(gymnasium.wrappers.RescaleObservation(env, -1.0, 1.0))
    rewards, path = [], []
    for seed in range(3):
        seen, _ = env.reset(seed=seed)
        total, late = 0.0, False
        while not late:
            cosine, sine, speed = float(seen[0]), float(seen[1]), 8.0 * float(seen[2])
            energy = 0.5 * speed * speed + 15.0 * (cosine - 1.0)
            near = cosine > 0.9
            torque = -8.0 * sine - 2.0 * speed if near else -0.5 * energy * np.sign(speed + 1e-9)
            seen, reward, _, late, _ = env.step(np.array([torque + 0.01 * rng.normal()], dtype=np.float32))
            total += float(reward)
        rewards.append(total)
        path.append(seen)
    env.close()
    return rewards, path


def learn(rng):
    """A table of values of states and actions, learnt while walking over the ice."""
    env = gymnasium.make("FrozenLake-v1", is_slippery=True)
    table = np.zeros((env.observation_space.n, env.action_space.n))
    wins = 0.0
    for episode in range(300):
        state, _ = env.reset(seed=episode)
        while True:
            greedy = rng.random() > 0.2
            action = int(np.argmax(table[state] + 1e-6 * rng.random(4))) if greedy else int(rng.integers(4))
            after, reward, done, late, _ = env.step(action)
            target = float(reward) + 0.95 * (0.0 if done else np.max(table[after]))
            table[state, action] += 0.3 * (target - table[state, action])
            state = after
            if done or late:
                wins += float(reward)
                break
    env.close()
    return table, wins


def drive(rng):
    return search(rng), swing(rng), learn(rng)
