"""Checks the dependencies that `cargo metadata` lists against deny.toml, as far as this is possible without cargo-deny."""
import json
import sys
import tomllib

packages = json.load(sys.stdin)["packages"]
with open("deny.toml", "rb") as file:
    deny = tomllib.load(file)


def version(package):
    return tuple(int(x) for x in (package["rust_version"] or "0").split("."))[:2]


own = next(version(p) for p in packages if p["name"] == "ropewalk")
faults = [f"{p['name']} asks for Rust {p['rust_version']}, newer than {own}" for p in packages if version(p) > own]

allowed = set(deny["licenses"]["allow"])
exceptions = {e["crate"]: set(e["allow"]) for e in deny["licenses"].get("exceptions", [])}
for p in packages:
    text = (p["license"] or "").replace("/", " OR ").replace("(", " ").replace(")", " ")
    # Each part of an AND expression needs one allowed alternative.
    for part in text.split(" AND "):
        if not any(one.strip() in allowed | exceptions.get(p["name"], set()) for one in part.split(" OR ")):
            faults.append(f"{p['name']} {p['version']}: the licence is {p['license']}")

for p in packages:
    if p["source"] and not p["source"].startswith("registry+"):
        faults.append(f"{p['name']} comes from {p['source']}")

sys.exit("\n".join(faults) if faults else 0)
