#!/usr/bin/env python3
"""An adapter of random numbers for a GGUF file of the Llama or Qwen2 family, in PEFT's format: to measure what an
adapter costs.

    python3 adapter.py MODEL.gguf RANK FOLDER
"""
import json
import pathlib
import random
import struct
import sys

MODULES = {
    "attn_q": "self_attn.q_proj",
    "attn_k": "self_attn.k_proj",
    "attn_v": "self_attn.v_proj",
    "attn_output": "self_attn.o_proj",
    "ffn_gate": "mlp.gate_proj",
    "ffn_up": "mlp.up_proj",
    "ffn_down": "mlp.down_proj",
}
SIZES = {0: 1, 1: 1, 2: 2, 3: 2, 4: 4, 5: 4, 6: 4, 7: 1, 10: 8, 11: 8, 12: 8}


def shapes(path):
    """The names and shapes of all tensors, columns first."""
    with open(path, "rb") as file:
        number = lambda form: struct.unpack("<" + form, file.read(struct.calcsize(form)))[0]
        text = lambda: file.read(number("Q"))

        def skip(kind):
            if kind == 8:
                text()
            elif kind == 9:
                inner, count = number("I"), number("Q")
                for _ in range(count):
                    skip(inner)
            else:
                file.read(SIZES[kind])

        assert (file.read(4), number("I")) == (b"GGUF", 3)
        tensors, keys = number("Q"), number("Q")
        for _ in range(keys):
            text()
            skip(number("I"))
        for _ in range(tensors):
            name = text().decode()
            shape = [number("Q") for _ in range(number("I"))]
            number("I"), number("Q")
            yield name, shape


def main():
    path, rank, folder = sys.argv[1], int(sys.argv[2]), pathlib.Path(sys.argv[3])
    # The same few numbers over and over: only their count costs.
    pool = struct.pack("<4093f", *(random.Random(1).gauss(0, 0.01) for _ in range(4093)))
    header, data, place = {"__metadata__": {"format": "pt"}}, [], 0
    for name, shape in shapes(path):
        parts = name.split(".")
        if parts[0] != "blk" or parts[2] not in MODULES or parts[3] != "weight":
            continue
        module = f"base_model.model.model.layers.{parts[1]}.{MODULES[parts[2]]}"
        for half, shape_of_half in [("A", [rank, shape[0]]), ("B", [shape[1], rank])]:
            size = 4 * shape_of_half[0] * shape_of_half[1]
            header[f"{module}.lora_{half}.weight"] = dict(
                dtype="F32", shape=shape_of_half, data_offsets=[place, place + size]
            )
            data.append((pool * (size // len(pool) + 1))[:size])
            place += size
    folder.mkdir(parents=True, exist_ok=True)
    header = json.dumps(header).encode()
    (folder / "adapter_model.safetensors").write_bytes(struct.pack("<Q", len(header)) + header + b"".join(data))
    settings = dict(peft_type="LORA", task_type="CAUSAL_LM", r=rank, lora_alpha=2 * rank)
    (folder / "adapter_config.json").write_text(json.dumps(settings))


main()
