#!/usr/bin/env bash
# HTML of the README, of docs/ and of the API's docstrings, in build/docs/html. A warning fails.
. "$(dirname "$0")/common.sh"
make_venv .venvs/docs .venv/bin/python tools/requirements-docs.txt
source=build/docs/source
rm -rf $source build/docs/html && mkdir -p $source
cp -r README.md CONTRIBUTING.md CHANGELOG.md docs examples $source
cat >$source/conf.py <<'EOF2'
project = "stator"
extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.napoleon"]
myst_heading_anchors = 3
html_theme = "furo"  # light and dark, wide and narrow screens, search
html_title = "stator"
EOF2
cat >$source/index.md <<'EOF2'
# stator

```{toctree}
:caption: Start
README
docs/guide/tutorial
docs/guide/profit
docs/guide/comparison
examples/README
```

```{toctree}
:caption: Guide
docs/guide/index
docs/guide/same
docs/guide/loops
docs/guide/objects
docs/guide/small
docs/guide/random
docs/guide/scripts
docs/guide/notebooks
docs/guide/report
docs/guide/debugging
docs/guide/libraries
docs/guide/threads
docs/guide/gpu
docs/guide/torch
docs/guide/coming-from
docs/guide/api
docs/guide/faq
docs/guide/glossary
```

```{toctree}
:caption: Reference
api
docs/coverage
docs/ops
docs/platforms
CHANGELOG
```

```{toctree}
:caption: How it is built
:glob:
docs/design/index
docs/tour
docs/design/*
docs/numpy-loops
CONTRIBUTING
docs/dev/*
```
EOF2
cat >$source/api.md <<'EOF2'
# API

```{eval-rst}
.. automodule:: stator
   :members:
```
EOF2
PYTHONPATH=build/release/python .venvs/docs/bin/python -m sphinx -q -W --keep-going -b html $source build/docs/html
echo "build/docs/html/index.html"
