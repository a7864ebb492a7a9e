"""Runs cases of `memory_cases` under limits on the address space, each in a forked process, and prints one line of JSON for each.

Arguments: the names of the cases, and the memory limits as shares of what a call needs.
"""

from __future__ import annotations

import json
import os
import resource
import signal
import sys
import time
import warnings

from memory_cases import CASES

#: The time after which a call counts as hanging.
SECONDS = 60


def status(key: str) -> int:
    """Returns a line of the process's status, in bytes."""
    with open("/proc/self/status") as lines:
        return next(int(line.split()[1]) * 1024 for line in lines if line.startswith(f"{key}:"))


def forked(call, limit: int | None) -> tuple[str, int]:  # type: ignore[no-untyped-def]
    """Runs a call in a child process. Returns its outcome, and its peak of address space."""
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        end, before = "returned", status("VmSize")
        try:
            if limit is not None:
                resource.setrlimit(resource.RLIMIT_AS, (before + limit, resource.RLIM_INFINITY))
            call()
        except BaseException as error:
            end = type(error).__name__
            end = "MemoryError" if isinstance(error, MemoryError) else end
            if limit is None:
                end += f" {error}"
        resource.setrlimit(resource.RLIMIT_AS, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
        os.write(writer, json.dumps([end, status("VmPeak") - before]).encode())
        os._exit(0)
    os.close(writer)
    until = time.monotonic() + SECONDS
    while os.waitpid(child, os.WNOHANG)[0] == 0:
        if time.monotonic() > until:
            os.kill(child, signal.SIGKILL)
            os.waitpid(child, 0)
            os.close(reader)
            return "hang", 0
        time.sleep(0.002)
    text = os.read(reader, 1 << 16)
    os.close(reader)
    if not text:
        return "abort", 0
    end, peak = json.loads(text)
    return end, peak


def main() -> None:
    warnings.simplefilter("ignore")
    cases, shares = json.loads(sys.argv[1])
    for name in cases:
        call = CASES[name]()
        end, needed = forked(call, None)
        if end != "returned":
            print(json.dumps({"case": name, "limit": None, "end": end}), flush=True)
            continue
        for share in shares:
            limit = int(share * needed)
            end, _ = forked(call, limit)
            print(json.dumps({"case": name, "share": share, "needed": needed, "limit": limit, "end": end}), flush=True)


main()
