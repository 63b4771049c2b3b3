"""Reads exported lessons by the loaders of the tools that they are for.

    python check.py MODEL_FOLDER LESSONS.trl.jsonl LESSONS_FOLDER LESSONS.axolotl.jsonl

The model's tokenizer is that which the lessons were made for. Of each tool the tokens and the tokens
with loss are compared with those that prompt and completion give by themselves. Prints a line a tool.
"""

import json
import sys
import types
from unittest.mock import MagicMock

from datasets import load_dataset
from transformers import AutoTokenizer

ABSENT = ["torchaudio"]

model, trl_file, llama_folder, axolotl_file = sys.argv[1:]
tokenizer = AutoTokenizer.from_pretrained(model)
if tokenizer.pad_token is None:
    tokenizer.pad_token = tokenizer.eos_token = "<|endoftext|>"
lessons = [json.loads(line) for line in open(trl_file)]


def expected(lesson):
    """Tokens, and for each whether it is learned."""
    prompt = tokenizer(lesson["prompt"], add_special_tokens=False)["input_ids"]
    whole = tokenizer(lesson["prompt"] + lesson["completion"], add_special_tokens=False)["input_ids"]
    assert whole[: len(prompt)] == prompt
    return whole, len(prompt)


def check_trl():
    from trl import SFTConfig, SFTTrainer
    from transformers import AutoModelForCausalLM

    trainer = SFTTrainer(
        model=AutoModelForCausalLM.from_pretrained(model),
        train_dataset=load_dataset("json", data_files=trl_file, split="train"),
        args=SFTConfig(
            output_dir="out", completion_only_loss=True, report_to=[], use_cpu=True, bf16=False
        ),
        processing_class=tokenizer,
    )
    read = trainer.train_dataset
    assert len(read) == len(lessons)
    same = 0
    for lesson, row in zip(lessons, read):
        tokens, border = expected(lesson)
        ids = [token for token in row["input_ids"]]
        mask = row.get("completion_mask")
        if mask is None:
            labels = row["labels"]
            mask = [int(label != -100) for label in labels]
        start = ids.index(tokens[0])
        assert ids[start : start + len(tokens)] == tokens, (ids, tokens)
        learned = mask[start : start + len(tokens)]
        assert learned == [0] * border + [1] * (len(tokens) - border), learned
        same += 1
    print("trl", same, "lessons with the same tokens and loss")


def check_llama_factory():
    # It imports packages for sound and images, which text does without.
    for name in ABSENT:
        sys.modules.setdefault(name, MagicMock(__spec__=None))
    from llamafactory.data.converter import AlpacaDatasetConverter
    from llamafactory.data.parser import get_dataset_list

    listed = get_dataset_list(["ken"], llama_folder)[0]
    rows = json.load(open(f"{llama_folder}/{listed.dataset_name}"))
    arguments = types.SimpleNamespace(media_dir="", dataset_dir=llama_folder)
    converter = AlpacaDatasetConverter(listed, arguments)
    assert len(rows) == len(lessons)
    for lesson, row in zip(lessons, rows):
        read = converter(row)
        assert read["_prompt"][-1]["content"] == lesson["prompt"], read
        assert read["_response"][0]["content"] == lesson["completion"], read
    print("llama-factory", len(rows), "lessons with the same prompt and response")


def check_axolotl():
    from axolotl.prompt_strategies.input_output import RawInputOutputPrompter
    from axolotl.prompt_strategies.input_output import RawInputOutputStrategy

    strategy = RawInputOutputStrategy(RawInputOutputPrompter(), tokenizer, False, 4096)
    rows = [json.loads(line) for line in open(axolotl_file)]
    assert len(rows) == len(lessons)
    for lesson, row in zip(lessons, rows):
        read = strategy.tokenize_prompt(row)
        tokens, border = expected(lesson)
        assert list(read["input_ids"])[-len(tokens) :] == tokens, read
        labels = list(read["labels"])[-len(tokens) :]
        assert labels == [-100] * border + tokens[border:], labels
    print("axolotl", len(rows), "lessons with the same tokens and loss")


for check in [check_trl, check_axolotl, check_llama_factory]:
    try:
        check()
    except Exception as error:
        print(check.__name__, "failed:", type(error).__name__, str(error)[:600])
