"""A multiple-choice task for lm-evaluation-harness from questions with golden answers: each question with its passage, and as
choices its answer and those of three other questions about the same passage.  make.py QUESTIONS.jsonl CORPUS.jsonl FOLDER N"""
import json, pathlib, random, sys

questions, corpus, folder, count = sys.argv[1:]
passages = {row["id"]: row["contents"] for row in map(json.loads, open(corpus))}
by_passage = {}
for row in map(json.loads, open(questions)):
    by_passage.setdefault(row["metadata"]["gold_passage"], []).append(row)
draw = random.Random(7)
rows = []
for passage, asked in by_passage.items():
    answers = list(dict.fromkeys(row["golden_answers"][0] for row in asked))
    if len(answers) >= 4 and len(passages[passage]) < 900:
        row = asked[0]
        choices = [row["golden_answers"][0]] + draw.sample(answers[1:], 3)
        order = draw.sample(range(4), 4)
        rows.append(dict(passage=passages[passage], question=row["question"], choices=[choices[i] for i in order], label=order.index(0)))
rows = rows[: int(count)]
folder = pathlib.Path(folder)
folder.mkdir(parents=True, exist_ok=True)
(folder / "rows.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
(folder / "reading.yaml").write_text(f"""task: reading
dataset_path: json
dataset_kwargs:
  data_files:
    test: {folder.resolve()}/rows.jsonl
test_split: test
output_type: multiple_choice
doc_to_text: "{{{{passage}}}}\\n\\nQuestion: {{{{question}}}}\\nAnswer:"
doc_to_choice: "{{{{choices}}}}"
doc_to_target: label
metric_list:
  - metric: acc
  - metric: acc_norm
""")
print(len(rows))
