"""The helper that starts one process and says how long it ran and how much memory it had at most.

`python -m benchmarks.measured ARGUMENTS` runs `python ARGUMENTS` and prints one JSON object. It imports little, so
that its own memory stays below that of what it measures.
"""

import subprocess
import sys
import time


def main(arguments: "list[str]") -> int:
    started = time.perf_counter()
    status = subprocess.call([sys.executable, *arguments], stdout=subprocess.DEVNULL)
    seconds = time.perf_counter() - started
    print(f'{{"seconds":{seconds},"peak_mib":{_peak_mib()}}}')
    return status


def _peak_mib() -> str:
    """Peak of the only child, as JSON; the system counts in KiB, macOS in bytes."""
    try:
        import resource
    except ModuleNotFoundError:
        return "null"
    peak = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss
    return str(peak / (1 << 20 if sys.platform == "darwin" else 1 << 10))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
