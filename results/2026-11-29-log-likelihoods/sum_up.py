"""Ratios of times, with bootstrap intervals over questions, and differences of log likelihoods.  sum_up.py measured.csv"""
import collections, csv, random, statistics, sys

asked = collections.defaultdict(dict)
for row in csv.DictReader(open(sys.argv[1])):
    asked[row["question"]][row["way"]] = float(row["seconds"]), [float(row[f"choice_{n}"]) for n in range(4)]
asked = list(asked.values())
for way in ("ken", "ken_int8", "process", "server"):
    times = [one[way][0] for one in asked if way in one]
    print(f"{way}: {len(times)} questions, median {statistics.median(times):.3f} s")
draw = random.Random(0)


def ratio(way, chosen):
    return sum(one["process"][0] for one in chosen) / sum(one[way][0] for one in chosen)


for way in ("ken", "ken_int8"):
    drawn = sorted(ratio(way, draw.choices(asked, k=len(asked))) for _ in range(2000))
    print(f"process / {way}: {ratio(way, asked):.2f} [{drawn[50]:.2f}, {drawn[1949]:.2f}]")
for way in ("ken_int8", "process"):
    differences = [abs(a - b) for one in asked for a, b in zip(one["ken"][1], one[way][1])]
    best = [max(range(4), key=values.__getitem__) for one in asked for values in (one["ken"][1], one[way][1])]
    alike = sum(one == other for one, other in zip(best[::2], best[1::2]))
    print(f"{way} and ken: mean difference {statistics.mean(differences):.3f}, largest {max(differences):.3f}, the same choice for {alike} of {len(asked)}")
