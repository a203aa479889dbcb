def add_options(p):
    pass


def run(options):
    raise SystemExit("not yet")
