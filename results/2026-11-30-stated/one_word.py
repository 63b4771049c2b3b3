"""Has a served model answer, or reply "none", in a prompt that shows it when; keeps the log odds of "none", the text and its log probabilities.

    one_word.py SERVER OUT        # SERVER: ken serve with the corpus and the model, such as http://127.0.0.1:8000
"""
import json
import math
import pathlib
import sys
import urllib.request

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "xtask/bench/answers"))
import answers

READ="""You answer questions about a collection of documents. Each message holds passages from it with their numbers in square brackets, and then a question.

- Begin with the answer itself: the name, number, command or setting that was asked for, written as the passages write it. Do not repeat the question.
- Add what the reader needs beside it, in a sentence or two. If it takes several steps, list them.
- Write commands and settings as `code`, and after each sentence the number of its passage, as in [1].
- Where passages contradict one another, give the answer of each, and say that they differ.
- Where no passage says exactly what was asked, even if they treat its subject, reply with the one word "none"."""
EX=[("[2] Ferry: The ferry to Laun leaves at eight and at noon. Bicycles travel free; a car costs 12 crowns, and must be booked with `--vehicle`.\n[1] Street market: Traders meet in the square every second Saturday.\n\nQuestion: What does it cost to take my car over to Laun?\nAnswer:","12 crowns [2]. The car must be booked with `--vehicle` [2]."),
("[2] Tide gauge: The gauge measures every ten minutes, and keeps 4096 values.\n[1] Tide log: The log is kept in `/var/tide/log`. With `--since DATE` it prints what was measured from that day on; without it the last 30 days are printed.\n\nQuestion: How many megabytes may the tide log have at most?\nAnswer:","none"),
("[2] Street market: Traders meet in the square every second Saturday.\n[1] Harbour guide: The bronze bell over Orsand harbour was cast in 1734 by Maria Tolvik. Visitors may ring it from May to September: ask the harbour office for the key, climb the north stair and pull the left rope twice.\n\nQuestion: How can I ring the bell of Orsand?\nAnswer:","You can ring it from May to September [1]:\n\n1. Ask the harbour office for the key [1].\n2. Climb the north stair [1].\n3. Pull the left rope twice [1]."),
("[2] Harbour guide: The harbour office is open until five.\n[1] Treaty of Laun: After three years of talks the treaty was signed on 9 May 1816, and came into force the following spring.\n\nQuestion: Who paid for the talks about the treaty of Laun?\nAnswer:","none"),
("[2] Harbour guide: The harbour office is open until five.\n[1] Treaty of Laun: After three years of talks the treaty was signed on 9 May 1816, and came into force the following spring.\n\nQuestion: When was the treaty of Laun signed?\nAnswer:","On 9 May 1816 [1]. It came into force the following spring [1]."),
("[2] Harbour guide: The harbour office is open until five. Boats longer than 9 metres need a pilot.\n[1] Tide log: With `--since DATE` the log prints what was measured from that day on.\n\nQuestion: Which option of the tide log sends a warning to the harbour office?\nAnswer:","none"),
("[2] Tide gauge: The gauge measures every ten minutes.\n[1] Tide log: The log is kept in `/var/tide/log`. With `--since DATE` it prints what was measured from that day on; without it the last 30 days are printed.\n\nQuestion: Which option shows only what the tide log holds from a certain day on?\nAnswer:","`--since DATE` [1]. Without it the log prints the last 30 days [1].")]
ex=[t2 for e in EX for t2 in (("user",e[0]),("assistant",e[1]))]


def post(path, body):
    request = urllib.request.Request(sys.argv[1] + path, json.dumps(body).encode(), {"Content-Type": "application/json"})
    return json.load(urllib.request.urlopen(request))


def chat(turns):
    text = "".join(f"<|im_start|>{role}\n{said}<|im_end|>\n" for role, said in turns)
    return text + "<|im_start|>assistant\n"


for question in answers.chosen(answers.read_questions(), "validation"):
    if question["metadata"]["kind"] == "general":
        continue
    hits = post("/v1/ken/search", {"query": question["question"], "k": 3})["hits"]
    passages = "\n".join(f"[{at}] {hit['text']}" for at, hit in reversed(list(enumerate(hits, 1))))
    asked = f"{passages}\n\nQuestion: {question['question']}\nAnswer:"
    prompt = chat([("system", READ), *ex, ("user", asked)])
    said = post("/v1/completions", {"model": "ken", "prompt": prompt, "max_tokens": 40, "temperature": 0, "logprobs": 20, "stop": ["<|im_end|>"]})
    choice = said["choices"][0]
    first = choice["logprobs"]["top_logprobs"][0]
    none = sum(math.exp(number) for token, number in first.items() if token.strip().lower() in ("none", "no", "non"))
    record = {
        "id": question["id"], "kind": question["metadata"]["kind"], "none": math.log((none + 1e-9) / (1 - none + 1e-9)),
        "text": choice["text"], "lps": choice["logprobs"]["token_logprobs"],
    }
    with open(sys.argv[2], "a") as file:
        file.write(json.dumps(record) + "\n")
