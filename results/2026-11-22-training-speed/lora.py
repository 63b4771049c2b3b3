"""Trains LoRA by transformers and peft as `ken train examples` does, one line of JSON a step.

python3 lora.py MODEL_FOLDER EXAMPLES.jsonl THREADS
"""

import json
import random
import sys
import time

import torch
from peft import LoraConfig, get_peft_model
from transformers import AutoModelForCausalLM, AutoTokenizer

BATCH = 8
PROJECTIONS = ["q", "k", "v", "o", "gate", "up", "down"]

folder, path, threads = sys.argv[1], sys.argv[2], int(sys.argv[3])
torch.set_num_threads(threads)
tokenizer = AutoTokenizer.from_pretrained(folder)
model = AutoModelForCausalLM.from_pretrained(folder, dtype=torch.float32)
lora = LoraConfig(
    r=16,
    lora_alpha=32,
    lora_dropout=0.0,
    target_modules=[f"{name}_proj" for name in PROJECTIONS],
    task_type="CAUSAL_LM",
)
model = get_peft_model(model, lora)
model.train()
optimizer = torch.optim.AdamW(model.parameters(), lr=3e-4, weight_decay=0.0)

with open(path) as lines:
    rows = [json.loads(line) for line in lines]
examples = [[tokenizer(row[part])["input_ids"] for part in ("prompt", "completion")] for row in rows]
# Examples of like lengths together, so that little is padded.
examples.sort(key=lambda parts: len(parts[0]) + len(parts[1]))
batches = [examples[i : i + BATCH] for i in range(0, len(examples), BATCH)]
random.Random(0).shuffle(batches)

for step, batch in enumerate(batches, 1):
    began = time.monotonic()
    width = max(len(prompt) + len(completion) for prompt, completion in batch)
    ids = torch.zeros((len(batch), width), dtype=torch.long)
    seen = torch.zeros_like(ids)
    labels = torch.full_like(ids, -100)
    for row, (prompt, completion) in enumerate(batch):
        length = len(prompt) + len(completion)
        ids[row, :length] = torch.tensor(prompt + completion)
        seen[row, :length] = 1
        labels[row, len(prompt) : length] = torch.tensor(completion)
    loss = model(input_ids=ids, attention_mask=seen, labels=labels).loss
    loss.backward()
    torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    optimizer.step()
    optimizer.zero_grad()
    record = {
        "step": step,
        "loss": loss.item(),
        "examples": len(batch),
        "tokens": int(seen.sum()),
        "padded": ids.numel(),
        "seconds": time.monotonic() - began,
    }
    print(json.dumps(record), flush=True)
