#!/usr/bin/env bash
# HTML of the README, of docs/ and of the API's docstrings, in build/docs/html. A warning fails.
. "$(dirname "$0")/common.sh"
make_venv .venvs/docs .venv/bin/python tools/requirements-docs.txt
source=build/docs/source
rm -rf $source build/docs/html && mkdir -p $source
cp -r README.md CONTRIBUTING.md CHANGELOG.md docs $source
cat >$source/conf.py <<'EOF2'
project = "stator"
extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.napoleon"]
myst_heading_anchors = 3
html_theme = "alabaster"
html_theme_options = {"page_width": "1100px", "fixed_sidebar": True}
EOF2
cat >$source/index.md <<'EOF2'
# stator

```{toctree}
:caption: Using it
README
docs/coverage
docs/ops
docs/platforms
api
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
