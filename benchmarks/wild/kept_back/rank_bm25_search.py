"""A search in short texts: three ways to weigh words, judged by the ranks of the documents that were meant."""

import re

import numpy as np
from rank_bm25 import BM25L, BM25Okapi, BM25Plus

PACKAGE = "rank-bm25"

SYLLABLES = (
    "ka",
    "ri",
    "mo",
    "ten",
    "su",
    "lor",
    "ve",
    "dan",
    "pi",
    "gal",
    "or",
    "sha",
    "nim",
    "bel",
    "tu",
    "rax",
)
STEPS = str.maketrans({"-": " ", ".": None, ",": None})


def prepare():
    rng = np.random.default_rng(66)
    words = ["".join(rng.choice(SYLLABLES, size=rng.integers(2, 4))) for _ in range(600)]
    texts = []
    for _ in range(300):
        topic = rng.integers(0, 560)
        common = (600 * rng.power(0.4, 30)).astype(int)
        special = topic + rng.integers(0, 40, 15)
        picked = rng.permutation(np.concatenate([common, special]))
        texts.append(
            " ".join(words[k].capitalize() if rng.random() < 0.1 else words[k] for k in picked) + "."
        )
    meant = rng.integers(0, 300, 70)
    return texts, meant, rng


def tokens(text):
    return [w for w in re.findall(r"[a-z]+", text.lower().translate(STEPS)) if len(w) > 3]


def gain(relevance):
    return float(np.sum((2.0**relevance - 1.0) / np.log2(np.arange(2, len(relevance) + 2))))


def drive(texts, meant, rng):
    corpus = [tokens(t) for t in texts]
    queries = []
    for which in meant:
        own = corpus[which]
        queries.append([own[k] for k in rng.choice(len(own), 5, replace=False)])
    vocabulary = {w: k for k, w in enumerate(sorted({w for c in corpus for w in c}))}
    rows = np.zeros((len(corpus), len(vocabulary)))
    for i, document in enumerate(corpus):
        for w in document:
            rows[i, vocabulary[w]] += 1.0
    rows /= np.linalg.norm(rows, axis=1, keepdims=True)

    out = []
    for kind, options in (
        (BM25Okapi, {}),
        (BM25Okapi, {"k1": 0.9, "b": 0.4}),
        (BM25L, {}),
        (BM25Plus, {"delta": 0.7}),
    ):
        index = kind(corpus, **options)
        ranks, gains, again = [], [], []
        for which, query in zip(meant, queries, strict=True):
            scores = index.get_scores(query)
            order = np.argsort(-scores, kind="stable")
            ranks.append(int(np.flatnonzero(order == which)[0]) + 1)
            relevance = rows[order[:10]] @ rows[which]
            gains.append(gain(relevance) / gain(np.sort(rows @ rows[which])[::-1][:10]))
            wider = query + corpus[order[1]][:4]
            again.append(max(index.get_batch_scores(wider, order[:20].tolist())))
        first = index.get_top_n(queries[0], texts, n=2)
        out.append((kind.__name__, ranks, float(np.mean(1.0 / np.array(ranks))), gains, again, first))
    return out
