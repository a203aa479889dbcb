"""Paths, ranks and matrices of a random graph."""

import networkx as nx

PACKAGE = "networkx"


def prepare():
    return (nx.gnm_random_graph(120, 400, seed=3),)


def drive(graph):
    ranks = nx.pagerank(graph)
    paths = dict(nx.all_pairs_shortest_path_length(graph))
    between = nx.betweenness_centrality(graph)
    a = nx.to_numpy_array(graph)
    return (
        ranks,
        sum(sum(p.values()) for p in paths.values()),
        between,
        a.sum(),
        nx.number_connected_components(graph),
    )
