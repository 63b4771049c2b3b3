"""Counts what came of the questions over documents that nothing was chosen on: `count.py`."""
import collections, json, pathlib, random, sys

here = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(here.parent.parent / "xtask/bench/answers"))
import judge

questions = {q["id"]: q for q in map(json.loads, open(here / "questions.jsonl"))}
arms = {name: {r["id"]: r for r in map(json.loads, open(here / f"{name}.jsonl"))} for name in ("ken", "plain")}
judge.table(list(questions.values()), {name: here / f"{name}.jsonl" for name in arms})
stated = [q for q in questions.values() if q["metadata"]["kind"] == "stated"]
right = {name: [judge.is_right(q, answers[q["id"]]) for q in stated] for name, answers in arms.items()}
differences = [int(a) - int(b) for a, b in zip(right["ken"], right["plain"])]
draws = random.Random(1)
means = sorted(sum(draws.choices(differences, k=len(differences))) / len(differences) for _ in range(10_000))
print("right, ken less plain:", round(sum(differences) / len(differences), 3), [round(means[at], 3) for at in (250, 9750)],
      "ken alone", differences.count(1), "plain alone", differences.count(-1))
refused = [q for q in stated if judge.is_refused(q, arms["ken"][q["id"]])]
print("refused by ken:", len(refused), "of which plain has right:", sum(judge.is_right(q, arms["plain"][q["id"]]) for q in refused),
      "of which an answer was withheld that was right:", sum(any(judge.holds(str(arms["ken"][q["id"]].get("withheld") or ""), g) for g in q["golden_answers"]) for q in refused))
wrong = {name: sum(not r and not judge.is_refused(q, arms[name][q["id"]]) for q, r in zip(stated, right[name])) for name in arms}
print("a wrong answer given:", wrong)
print("routes:", collections.Counter((r["route"], r["reason"][:40] if r.get("reason") else None) for r in arms["ken"].values()).most_common(8))
for group in sorted({q["metadata"]["document"].split("/")[0] for q in stated}):
    of = [at for at, q in enumerate(stated) if q["metadata"]["document"].startswith(group)]
    print(group, len(of), {name: sum(right[name][at] for at in of) for name in arms})
