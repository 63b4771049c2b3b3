#!/usr/bin/env python3
"""Answers over manuals, by ken and by others, with one model file and on the same questions, taken in turns.

    answers.py run --ken KEN --model GGUF --embedder FOLDER --manuals FOLDER --out FOLDER [--questions test] [--every N] [ARM...]
    answers.py table NAME=OUT.jsonl...

The arms are `ken`, as `ken serve` answers without any setting; `plain`, a plain prompt with the passages that ken finds; `llamaindex`, its
query engine with all defaults; and `llamaindex-256`, with chunks that make its evidence as long as ken's. The last three write by llama.cpp's
server, which xllamacpp brings. LlamaIndex embeds by ken's `/v1/embeddings`, so that all search with one embedder. What was answered is not
asked again. An answer is right if it holds one of the golden answers as whole words, refused if it says that there is no answer.

A question of `questions.jsonl` belongs to the part that its `split` names: `validation`, or `confirm`, which confirms once what was chosen
on validation when the test questions were already asked. Of those without a `split`, every third of each kind and format, in the order of
their ids, is for validation, and the others are the test.
"""
import argparse
import collections
import contextlib
import json
import logging
import pathlib
import subprocess
import sys
import time
import urllib.request

HERE = pathlib.Path(__file__).resolve().parent
sys.path.append(str(HERE.parent.parent / "clients"))

from judge import table
from servers import free_port, running

ARMS = ("ken", "plain", "llamaindex", "llamaindex-256")
# LlamaIndex's default, in its own arrangement: context, a rule, the query.
PLAIN = (
    "Context information is below.\n---------------------\n{context}\n---------------------\n"
    "Given the context information and not prior knowledge, answer the query.\nQuery: {question}\nAnswer: "
)
MOST_TOKENS = 256
# How many tokens a prompt and an answer may have.
CONTEXT = 8192
PASSAGES = 3


def read_questions():
    return [json.loads(line) for line in open(HERE / "questions.jsonl")]


def chosen(questions, split):
    kinds = collections.defaultdict(list)
    for question in sorted(questions, key=lambda question: question["id"]):
        metadata = question["metadata"]
        kinds[metadata["kind"], metadata["format"], metadata.get("split")].append(question)
    found = []
    for (_, _, own), of in kinds.items():
        part = lambda at: own or ("test" if at % 3 else "validation")
        found += [question for at, question in enumerate(of) if split in ("all", part(at))]
    return found


def post(url, body):
    request = urllib.request.Request(url, json.dumps(body).encode(), {"Content-Type": "application/json"})
    return json.load(urllib.request.urlopen(request))


def ken_arm(ken):
    def answer(question):
        said = post(f"{ken}/v1/chat/completions", {"model": "ken", "messages": [{"role": "user", "content": question}]})
        trace = {key: said["ken"].get(key) for key in ("route", "reason", "withheld", "lack")}
        trace["cited"] = [citation["doc_id"] for citation in said["ken"]["citations"]]
        return {"answer": said["choices"][0]["message"]["content"], "prompt_tokens": said["usage"]["prompt_tokens"], **trace}

    return answer


def plain_arm(ken, llama):
    def answer(question):
        hits = post(f"{ken}/v1/ken/search", {"query": question, "k": PASSAGES})["hits"]
        content = PLAIN.format(context="\n\n".join(hit["text"] for hit in hits), question=question)
        body = {"messages": [{"role": "user", "content": content}], "max_tokens": MOST_TOKENS, "temperature": 0}
        said = post(f"{llama}/v1/chat/completions", body)
        return {"answer": said["choices"][0]["message"]["content"], "prompt_tokens": said["usage"]["prompt_tokens"]}

    return answer


def llamaindex_arm(ken, llama, manuals, out, chunk):
    """LlamaIndex as its first page shows it, over servers on this machine; with `chunk`, its passages have so many tokens."""
    from llama_index.core import Settings, SimpleDirectoryReader, StorageContext, VectorStoreIndex, load_index_from_storage
    from llama_index.core.callbacks import CallbackManager, TokenCountingHandler
    from llama_index.core.node_parser import SentenceSplitter
    from llama_index.embeddings.openai_like import OpenAILikeEmbedding
    from llama_index.llms.openai_like import OpenAILike

    counter = TokenCountingHandler()
    Settings.callback_manager = CallbackManager([counter])
    Settings.embed_model = OpenAILikeEmbedding(
        model_name="ken/embedder", api_base=f"{ken}/v1", api_key="none", additional_kwargs={"extra_body": {"truncate": True}}
    )
    llm = OpenAILike(
        model="model", api_base=f"{llama}/v1", api_key="none", is_chat_model=True, context_window=CONTEXT, max_tokens=MOST_TOKENS,
        temperature=0, timeout=1200, callback_manager=Settings.callback_manager,
    )
    kept = out / f"llamaindex-{chunk or 'default'}"
    splitter = {"transformations": [SentenceSplitter(chunk_size=chunk, chunk_overlap=20)]} if chunk else {}
    if kept.is_dir():
        index = load_index_from_storage(StorageContext.from_defaults(persist_dir=str(kept)))
    else:
        documents = SimpleDirectoryReader(str(manuals), recursive=True).load_data()
        index = VectorStoreIndex.from_documents(documents, **splitter)
        index.storage_context.persist(persist_dir=str(kept))
    engine = index.as_query_engine(llm=llm)

    def answer(question):
        counter.reset_counts()
        said = engine.query(question)
        cited = [pathlib.Path(node.metadata["file_path"]).relative_to(manuals).as_posix() for node in said.source_nodes]
        return {"answer": str(said), "read": cited, "prompt_tokens": counter.prompt_llm_token_count}

    return answer


def llama_server(model):
    import xllamacpp

    params = xllamacpp.CommonParams()
    params.model.path, params.n_ctx, params.n_parallel, params.warmup = model, CONTEXT, 1, False
    params.cpuparams.n_threads = params.cpuparams_batch.n_threads = 2
    return xllamacpp.Server(params)


def run(options):
    # Each request of LlamaIndex would be told between the progress.
    logging.getLogger("httpx").setLevel(logging.WARNING)
    questions = chosen(read_questions(), options.questions)[:: options.every]
    out, manuals = options.out.resolve(), options.manuals.resolve()
    out.mkdir(parents=True, exist_ok=True)
    corpus = out / "manuals.ken"
    subprocess.run([options.ken, "ingest", manuals, "--corpus", corpus, "--embedder", options.embedder], check=True)
    port = free_port()
    command = [options.ken, "serve", "--corpus", corpus, "--model", options.model, "--listen", f"127.0.0.1:{port}"]
    with contextlib.ExitStack() as stack:
        ken = stack.enter_context(running("serve", command, port, "/ready", out))
        server = llama_server(str(options.model)) if set(options.arms) - {"ken"} else None
        llama = server and server.listening_address
        makers = {
            "ken": lambda: ken_arm(ken),
            "plain": lambda: plain_arm(ken, llama),
            "llamaindex": lambda: llamaindex_arm(ken, llama, manuals, out, None),
            "llamaindex-256": lambda: llamaindex_arm(ken, llama, manuals, out, 256),
        }
        arms, files = {arm: makers[arm]() for arm in options.arms}, {arm: out / f"{arm}.jsonl" for arm in options.arms}
        done = {arm: answered(path) for arm, path in files.items()}
        for number, question in enumerate(questions, 1):
            for arm, answer in arms.items():
                if question["id"] not in done[arm]:
                    started = time.perf_counter()
                    record = {"id": question["id"], **answer(question["question"]), "s": time.perf_counter() - started}
                    with open(files[arm], "a") as file:
                        file.write(json.dumps(record) + "\n")
            print(f"\r{number} of {len(questions)} questions", end="", file=sys.stderr, flush=True)
        print(file=sys.stderr)
    table(questions, files)


def answered(path):
    return {json.loads(line)["id"] for line in open(path)} if path.exists() else set()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    verbs = parser.add_subparsers(required=True)
    runs = verbs.add_parser("run")
    for name in ("ken", "model", "embedder", "manuals", "out"):
        runs.add_argument(f"--{name}", type=pathlib.Path, required=True)
    runs.add_argument("--questions", choices=("validation", "test", "confirm", "all"), default="test")
    runs.add_argument("--every", type=int, default=1, help="only each Nth question")
    runs.add_argument("arms", nargs="*", default=ARMS, metavar="ARM")
    runs.set_defaults(do=run)
    tables = verbs.add_parser("table")
    tables.add_argument("arms", nargs="+", metavar="NAME=OUT.jsonl")
    tables.set_defaults(do=lambda options: table(read_questions(), dict(word.split("=", 1) for word in options.arms)))
    options = parser.parse_args()
    options.do(options)


if __name__ == "__main__":
    main()
