"""Tries clients that others wrote against running servers of `ken`, and prints a row of each trial. `cargo xtask clients try` calls it.

There are two servers: one with a model inside `ken`, and one before a model server, for which a stand-in is taken that calls tools and always
says the same. Each file `with_*` beside this one is a client, and runs in a process of its own.
"""
import argparse
import collections
import contextlib
import csv
import json
import pathlib
import signal
import subprocess
import sys
import tempfile
import time
import urllib.request

import servers
import stand_in

HERE = pathlib.Path(__file__).resolve().parent
COLUMNS = ["client", "version", "model", "what", "outcome", "seconds"]
INSIDE, BEHIND = "inside ken", "behind ken"

# The longest that one client may take, in seconds.
LIMIT = 900

DOCUMENT = """# Harbor

The Marigold is moored at berth 14. The harbor office opens at eight.

# Chimney

Ida sweeps the chimney in May.
"""

# The files of clients, by the Python that has their packages.
CLIENTS = [
    ("with_openai.py", "clients"),
    ("with_langchain.py", "frameworks"),
    ("with_llamaindex.py", "others"),
    ("with_haystack.py", "frameworks"),
    ("with_instructor.py", "frameworks"),
    ("with_pydantic_ai.py", "frameworks"),
    ("with_agents_sdk.py", "frameworks"),
    ("with_smolagents.py", "frameworks"),
    ("with_litellm.py", "litellm"),
    ("with_litellm_proxy.py", "litellm"),
    ("with_ai_sdk.mjs", "node"),
    ("with_openai.mjs", "node"),
    ("with_mcp.py", "clients"),
    ("with_inspector.py", "clients"),
    ("with_lm_eval.py", "others"),
]


def read_arguments():
    reader = argparse.ArgumentParser(prog="cargo xtask clients try")
    reader.add_argument("--ken", required=True, help="the program")
    reader.add_argument("--model", required=True, help="the model inside it, a file")
    reader.add_argument("--embedder", required=True)
    for name in ("clients", "frameworks", "litellm", "others", "node", "modules"):
        reader.add_argument(f"--{name}", required=True, help=argparse.SUPPRESS)
    reader.add_argument("--only", action="append", default=[], help="the client whose file has this in its name; may be repeated")
    reader.add_argument("--out", required=True, type=pathlib.Path, help="the table as CSV")
    return reader.parse_args()


def has_tools(ken):
    """Whether the template of the server's model has a place for tools."""
    with urllib.request.urlopen(f"{ken}/tokenizer_info") as response:
        return "tools" in (json.load(response).get("chat_template") or "")


def rows_of(file, program, variables, folder):
    """Runs a client's file, and yields its rows as they come; what it wrote beside them is in a file of the folder."""
    log = folder / f"{file}.log"
    with open(log, "ab") as errors:
        process = subprocess.Popen(
            [program, str(HERE / file)], cwd=folder, env=servers.environment(folder, **variables), stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE, stderr=errors, text=True, start_new_session=True,
        )
        signal.alarm(LIMIT)
        late = False
        try:
            for line in process.stdout:
                yield json.loads(line)
            process.wait()
        except TimeoutError:
            late = True
        finally:
            signal.alarm(0)
            code = process.poll()
            servers.end(process)
    if late or code:
        why = f"ran longer than {LIMIT} s" if late else f"ended with {code}: {log.read_text(errors='replace').strip()[-200:]}"
        yield {"client": file, "version": "", "what": "all trials", "outcome": f"failed: {why}".replace("\n", " "), "seconds": ""}


def try_all(arguments, folder, add):
    """Starts the servers, and runs every client against each."""
    model = stand_in.start()
    corpus = folder / "harbor.ken"
    (folder / "harbor.md").write_text(DOCUMENT)
    made = [arguments.ken, "ingest", "harbor.md", "--corpus", str(corpus), "--embedder", arguments.embedder]
    subprocess.run(made, cwd=folder, env=servers.environment(folder), check=True, capture_output=True)
    common = ["--corpus", str(corpus), "--embedder", arguments.embedder, "--style", "full", "--policy", "always"]
    plain = ["--model", arguments.model]
    # Small models read questions as text unless told, and write nothing to many a system message then.
    inside = plain + ["--prompt-form", "chat"]
    with contextlib.ExitStack() as stack:
        start = lambda name, more: stack.enter_context(servers.ken(name, arguments.ken, folder, common + more))
        address = {INSIDE: start("inside", inside), BEHIND: start("behind", ["--model", f"{model}/v1"])}
        tools = has_tools(address[INSIDE])
        variables = {
            place: {
                "TRIAL_SERVER": address[place],
                # A model inside reads no evidence unless a trial asks for it, which saves time.
                "TRIAL_MODEL": "ken/never" if place == INSIDE else "ken/always",
                "TRIAL_TOOLS": "yes" if tools or place == BEHIND else "no",
                "TRIAL_STAND_IN": "" if place == INSIDE else model,
                "TRIAL_MCP": json.dumps([arguments.ken, "serve", "mcp", *common, *(inside if place == INSIDE else ["--model", f"{model}/v1"])]),
                "TRIAL_NODE": arguments.node,
                "TRIAL_MODULES": arguments.modules,
            }
            for place in (INSIDE, BEHIND)
        }
        for file, runner in CLIENTS:
            if not (HERE / file).exists() or arguments.only and not any(name in file for name in arguments.only):
                continue
            for place in (INSIDE, BEHIND):
                run = lambda more: [
                    add({**row, "model": place}) for row in rows_of(file, getattr(arguments, runner), {**variables[place], **more}, folder)
                ]
                if file == "with_litellm_proxy.py":
                    try_proxy(arguments, folder, place, address[place], run)
                    if place == BEHIND:
                        try_behind_proxy(arguments, folder, common, model, run, add)
                elif (file, place) == ("with_openai.py", INSIDE):
                    with servers.ken("plain", arguments.ken, folder, common + plain) as address_of_plain:
                        run({"TRIAL_PLAIN": address_of_plain})
                else:
                    run({})


def try_proxy(arguments, folder, place, ken, run):
    """LiteLLM's proxy before `ken`."""
    policy = "ken/never" if place == INSIDE else "ken/always"
    models = {"handbook": (policy, ken), "vectors": ("ken/embedder", ken)}
    with servers.litellm(f"litellm-{place.split()[0]}", arguments.litellm, folder, models) as proxy:
        run({"TRIAL_SERVER": proxy, "TRIAL_MODEL": "handbook", "TRIAL_WAY": "before ken"})


# LiteLLM's proxy asks a model no more for a while after one error, unless this is set.
NO_COOLDOWN = "router_settings: {disable_cooldowns: true}\n"


def try_behind_proxy(arguments, folder, common, model, run, add):
    """LiteLLM's proxy as the model server of a `ken`: with its own settings, `ken` has to start; the rest is tried without its pauses."""
    for name, more in (("as it comes", ""), ("without cooldowns", NO_COOLDOWN)):
        with contextlib.ExitStack() as stack:
            file = f"litellm-{name.replace(' ', '-')}"
            models = {"stand-in": ("stand-in", model)}
            proxy = stack.enter_context(servers.litellm(file, arguments.litellm, folder, models, more))
            options = common + ["--model", f"{proxy}/v1", "--model-name", "stand-in"]
            started, outcome = time.monotonic(), "ok"
            try:
                ken = stack.enter_context(servers.ken(f"ken-{file}", arguments.ken, folder, options))
            except servers.NotStarted as error:
                outcome = f"failed: {error}"
            seconds = round(time.monotonic() - started, 1)
            version = servers.version(arguments.litellm, "litellm")
            what = f"proxy behind ken, {name}: ken starts"
            add({"client": "litellm", "version": version, "model": BEHIND, "what": what, "outcome": outcome, "seconds": seconds})
            if more and outcome == "ok":
                run({"TRIAL_SERVER": ken, "TRIAL_WAY": "behind ken"})


def stop(*_):
    raise SystemExit("stopped")


def run_late(*_):
    raise TimeoutError


def main():
    arguments = read_arguments()
    signal.signal(signal.SIGTERM, stop)
    signal.signal(signal.SIGALRM, run_late)
    counts = collections.Counter()
    with open(arguments.out, "w", newline="") as file, tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        table = csv.DictWriter(file, COLUMNS, lineterminator="\n")
        table.writeheader()

        def add(row):
            table.writerow(row)
            file.flush()
            counts[row["outcome"].split(":")[0]] += 1
            print(f"{row['client']:<32}{row['version']:<10}{row['model']:<12}{row['outcome']:<8} {row['what']}", flush=True)

        try_all(arguments, pathlib.Path(folder), add)
        if counts["failed"]:
            logs = arguments.out.with_suffix(".log")
            logs.write_text("".join(f"== {log.name}\n{log.read_text(errors='replace')}\n" for log in sorted(pathlib.Path(folder).glob("*.log"))))
            print(f"what the servers and clients wrote: {logs}")
    print(", ".join(f"{count} {outcome}" for outcome, count in counts.items()) + f"; {arguments.out}")
    sys.exit(1 if counts["failed"] or not counts["ok"] else 0)


main()
