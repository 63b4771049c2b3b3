"""EleutherAI's lm-evaluation-harness, over tasks that are written here."""
import json
import pathlib
import subprocess
import sys

from rows import BASE, MODEL, inside_only, report

FOLDER = pathlib.Path("lm-eval")
ROWS = [
    {"question": "The Marigold lies at berth 14. At which berth does it lie?", "choices": ["14", "22"], "label": 0},
    {"question": "Ida sweeps the chimney. Who sweeps it?", "choices": ["Paul", "Ida"], "label": 1},
]
TASK = """task: {name}
dataset_path: json
dataset_kwargs:
  data_files:
    test: {rows}
test_split: test
output_type: {kind}
{more}"""
CHOICE = """doc_to_text: "{{question}}\\nAnswer:"
doc_to_choice: "{{choices}}"
doc_to_target: label
metric_list:
  - metric: acc
"""
ROLLING = """doc_to_text: ""
doc_to_target: "{{question}}"
metric_list:
  - metric: bits_per_byte
"""
# Digits follow one another, so there is a place to stop.
WRITING = """doc_to_text: "{{question}} Count from 1 to 9 and write nothing else: 1, 2, 3"
doc_to_target: "{{choices[label]}}"
generation_kwargs:
  until: ["5"]
  max_gen_toks: 24
metric_list:
  - metric: exact_match
"""
KINDS = {"choice": ("multiple_choice", CHOICE), "rolling": ("loglikelihood_rolling", ROLLING), "writing": ("generate_until", WRITING)}


def evaluate(model, route, tasks, settings="", *more):
    """The harness's results, and its samples by task."""
    FOLDER.mkdir(exist_ok=True)
    rows = FOLDER.resolve() / "rows.jsonl"
    rows.write_text("".join(json.dumps(row) + "\n" for row in ROWS))
    for name, (kind, text) in KINDS.items():
        (FOLDER / f"{name}.yaml").write_text(TASK.format(name=name, rows=rows, kind=kind, more=text))
    out = FOLDER / f"{model}{len(list(FOLDER.iterdir()))}"
    command = [
        sys.executable, "-m", "lm_eval", "--model", model, "--tasks", ",".join(tasks), "--include_path", str(FOLDER), "--limit", "2",
        "--model_args", f"base_url={BASE}/{route},model={MODEL},num_concurrent=1,max_retries=1{settings}",
        "--output_path", str(out), "--log_samples", *more,
    ]
    done = subprocess.run(command, capture_output=True, text=True, timeout=600)
    assert done.returncode == 0, done.stderr.strip()[-250:]
    results = json.loads(next(out.rglob("results_*.json")).read_text())["results"]
    samples = {task: [json.loads(line) for line in next(out.rglob(f"samples_{task}_*.jsonl")).read_text().splitlines()] for task in tasks}
    return results, samples


def likelihoods(samples):
    return [float(response[0][0]) for sample in samples["choice"] for response in sample["resps"]]


@inside_only
def completions():
    """local-completions by the server's tokenizer and as texts: choices, perplexity, generation to a stop; the same log likelihoods"""
    results, samples = evaluate("local-completions", "completions", ["choice", "rolling", "writing"])
    assert 0 < results["rolling"]["bits_per_byte,none"] < 100, results
    assert all("5" not in sample["resps"][0][0] for sample in samples["writing"]), samples["writing"]
    _, texts = evaluate("local-completions", "completions", ["choice"], ",tokenized_requests=False")
    pairs = list(zip(likelihoods(samples), likelihoods(texts), strict=True))
    assert len(pairs) == 4 and all(abs(left - right) < 1e-3 for left, right in pairs), pairs


def chat():
    """local-chat-completions: generation to a stop"""
    _, samples = evaluate("local-chat-completions", "chat/completions", ["writing"], "", "--apply_chat_template")
    assert all("5" not in sample["resps"][0][0] for sample in samples["writing"]), samples["writing"]


report("lm-eval", [completions, chat])
