"""Which of each pair of related faults is held out: drawn once, before any program was written, with seed 56 (the issue's number)."""
import random

PAIRS = """lockskew/stylesheet droptable/procstat spawn/screenshot sessionstore/kwallet hostpings/pgwire dnslookup/workstream
lifoslot/acceptor blasinit/podlimit fastq/ninja pathfinder/plugin pacer/interval gilio/tightloop"""

if __name__ == "__main__":
    dice = random.Random(56)
    for pair in PAIRS.split():
        print(pair, "held out:", dice.choice(pair.split("/")))
