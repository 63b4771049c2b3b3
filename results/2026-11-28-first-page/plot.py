#!/usr/bin/env python3
"""Draws exact match against the share of questions whose evidence is read, from the answers of the mixed traffic, as SVG.

    python3 plot.py ../2026-11-25-mixed-traffic/answers.csv > ../../docs/images/when-to-retrieve.svg

Each curve takes every threshold of one signal, over all questions: that is hindsight. The dots are policies with thresholds from
the other half of the questions, with the 95% intervals of their exact match (Wilson).
"""
import csv
import math
import sys

WIDTH, HEIGHT = 760, 420
LEFT, RIGHT, TOP, BOTTOM = 60, 590, 40, 360
LOW, HIGH = 0.10, 0.40
BLUE, ORANGE, GREY, GREEN = "#1f6feb", "#d9730d", "#8a8f98", "#2e8b57"

with open(sys.argv[1]) as file:
    rows = list(csv.DictReader(file))
count = len(rows)


def x(share):
    return LEFT + share * (RIGHT - LEFT)


def y(accuracy):
    return BOTTOM - (accuracy - LOW) / (HIGH - LOW) * (BOTTOM - TOP)


def curve(wanted):
    """Share and exact match, as evidence is read for one question more, those that want it most first."""
    right = sum(int(row["never"]) for row in rows)
    points = [(0, right / count)]
    for read, row in enumerate(sorted(rows, key=wanted, reverse=True), 1):
        right += int(row["always"]) - int(row["never"])
        points.append((read / count, right / count))
    return points


def wilson(share):
    z = 1.96
    middle = (share + z * z / (2 * count)) / (1 + z * z / count)
    half = z * math.sqrt(share * (1 - share) / count + z * z / (4 * count * count)) / (1 + z * z / count)
    return middle - half, middle + half


def text(at_x, at_y, words, color="#333", anchor="start", size=13):
    return f'<text x="{at_x:.1f}" y="{at_y:.1f}" fill="{color}" text-anchor="{anchor}" font-size="{size}">{words}</text>'


def line(points, color, dash="", width=2):
    path = " ".join(f"{x(a):.1f},{y(b):.1f}" for a, b in points)
    return f'<polyline points="{path}" fill="none" stroke="{color}" stroke-width="{width}" stroke-dasharray="{dash}"/>'


def dot(share, accuracy, color):
    low, high = wilson(accuracy)
    return (
        f'<line x1="{x(share):.1f}" x2="{x(share):.1f}" y1="{y(low):.1f}" y2="{y(high):.1f}" stroke="{color}" stroke-width="1.5"/>'
        f'<circle cx="{x(share):.1f}" cy="{y(accuracy):.1f}" r="5" fill="{color}"/>'
    )


def chosen(wanted):
    """Share and exact match with thresholds from the other half; of equal ones the one that reads least."""
    halves = [rows[0::2], rows[1::2]]
    read = right = 0
    for own, other in [halves, halves[::-1]]:
        ordered = sorted(other, key=wanted, reverse=True)
        gain = best = 0
        threshold = math.inf
        for row in ordered:
            gain += int(row["always"]) - int(row["never"])
            if gain > best:
                best, threshold = gain, wanted(row)
        for row in own:
            reads = wanted(row) >= threshold
            read += reads
            right += int(row["always" if reads else "never"])
    return read / count, right / count


def cosine(row):
    return float(row["cosine"])


def doubt(row):
    return -float(row["logprob"])


never = sum(int(row["never"]) for row in rows) / count
always = sum(int(row["always"]) for row in rows) / count
helped = sum(row["never"] == "0" and row["always"] == "1" for row in rows) / count
oracle = sum(row["never"] == "1" or row["always"] == "1" for row in rows) / count
by_cosine, by_doubt = chosen(cosine), chosen(doubt)
print(
    f"never {never:.3f}, always {always:.3f}, oracle {oracle:.3f} at {helped:.3f}; thresholds from the other half: "
    f"cosine {by_cosine[1]:.3f} at {by_cosine[0]:.3f}, log probability {by_doubt[1]:.3f} at {by_doubt[0]:.3f}",
    file=sys.stderr,
)
out = [
    f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" font-family="system-ui, sans-serif" role="img">',
    "<title>Exact match against the share of questions whose evidence is read</title>",
    f"<desc>Never reading evidence answers {never:.3f} of the questions, always {always:.3f}, reading it where its cosine is high "
    f"{by_cosine[1]:.3f} with evidence for {by_cosine[0]:.3f} of the questions, and an oracle {oracle:.3f}.</desc>",
    f'<rect width="{WIDTH}" height="{HEIGHT}" fill="#fff"/>',
]
for tick in range(10, 41, 5):
    at = y(tick / 100)
    out.append(f'<line x1="{LEFT}" x2="{RIGHT}" y1="{at:.1f}" y2="{at:.1f}" stroke="#e6e8eb"/>')
    out.append(text(LEFT - 8, at + 4, f"{tick}%", anchor="end", size=12))
for tick in range(0, 101, 25):
    out.append(text(x(tick / 100), BOTTOM + 20, f"{tick}%", anchor="middle", size=12))
out += [
    text(LEFT - 40, TOP - 16, "right answers"),
    text((LEFT + RIGHT) / 2, BOTTOM + 44, "questions whose evidence is read", anchor="middle"),
    line([(0, never), (1, always)], GREY, "5 4"),
    line(curve(doubt), ORANGE),
    line(curve(cosine), BLUE),
    dot(0, never, GREY),
    dot(1, always, GREY),
    dot(*by_doubt, ORANGE),
    dot(*by_cosine, BLUE),
    dot(helped, oracle, GREEN),
    text(x(0) + 10, y(never) + 18, f"never {never:.1%}", GREY),
    text(x(1) + 10, y(always) + 4, f"always {always:.1%}", GREY),
    text(x(helped) + 10, y(oracle) - 8, f"oracle {oracle:.1%}", GREEN),
    text(x(by_cosine[0]) - 4, y(by_cosine[1]) - 24, f"how near the evidence is {by_cosine[1]:.1%}", BLUE, "middle"),
    text(x(0.72), y(0.225), "chance", GREY),
    text(x(0.3), y(0.155), "how sure the model is", ORANGE),
    "</svg>",
]
print("\n".join(out))
