import yaml


def merge(a, b):
    for k, v in b.items():
        a[k] = merge(a.get(k, {}), v) if isinstance(v, dict) else v
    return a


def compose(args):
    """base.yaml, then +experiment=NAME, then dotted overrides a.b=c (as in hydra)."""
    cfg = yaml.safe_load(open("conf/base.yaml"))
    for arg in args:
        key, _, value = arg.partition("=")
        if key == "+experiment":
            merge(cfg, yaml.safe_load(open(f"conf/{value}.yaml")))
            continue
        node = yaml.safe_load(value)
        for part in reversed(key.split(".")):
            node = {part: node}
        merge(cfg, node)
    return cfg
