#!/usr/bin/env bash
# HTML of docs/*.md and of the API's docstrings, in build/docs/html.
. "$(dirname "$0")/common.sh"
make_venv .venvs/docs .venv/bin/python tools/requirements-docs.txt
source=build/docs/source
rm -rf $source && mkdir -p $source
cp README.md CONTRIBUTING.md CHANGELOG.md $source 2>/dev/null || true
[ ! -d docs ] || cp -r docs $source/
cat >$source/conf.py <<'EOF2'
project = "stator"
extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.napoleon"]
myst_heading_anchors = 3
suppress_warnings = ["myst.xref_missing"]
html_theme = "alabaster"
EOF2
cat >$source/index.md <<'EOF2'
# stator

```{toctree}
:glob:
README
docs/*
docs/dev/*
api
CONTRIBUTING
CHANGELOG
```
EOF2
cat >$source/api.md <<'EOF2'
# API

```{eval-rst}
.. automodule:: stator
   :members:
```
EOF2
PYTHONPATH=build/release/python .venvs/docs/bin/python -m sphinx -q -b html $source build/docs/html
echo "build/docs/html/index.html"
