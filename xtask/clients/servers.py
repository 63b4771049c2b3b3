"""Servers of a trial: started on loopback, waited for, and ended by their own ids."""
import contextlib
import os
import signal
import socket
import subprocess
import time
import urllib.request

# No client reports home, asks a hub, or traces.
QUIET = {
    "ANONYMIZED_TELEMETRY": "False",
    "DO_NOT_TRACK": "1",
    "HAYSTACK_TELEMETRY_ENABLED": "False",
    "HF_HUB_DISABLE_TELEMETRY": "1",
    "HF_HUB_OFFLINE": "1",
    "HF_DATASETS_OFFLINE": "1",
    "TRANSFORMERS_OFFLINE": "1",
    "LANGSMITH_TRACING": "false",
    "LANGCHAIN_TRACING_V2": "false",
    "LITELLM_LOCAL_MODEL_COST_MAP": "True",
    "LITELLM_TELEMETRY": "False",
    "OPENAI_AGENTS_DISABLE_TRACING": "1",
    "OTEL_SDK_DISABLED": "true",
    "AI_SDK_LOG_WARNINGS": "false",
    "NO_UPDATE_NOTIFIER": "1",
    "PYTHONDONTWRITEBYTECODE": "1",
    "NO_COLOR": "1",
}


class NotStarted(Exception):
    """A server that ended, or did not answer in time, with the last error that it wrote."""


def environment(home, **more):
    """Variables of a process: few of this one's, a home of its own, and nothing that leads elsewhere."""
    kept = {name: os.environ[name] for name in ("PATH", "LANG", "SYSTEMROOT") if name in os.environ}
    return {**kept, "HOME": str(home), **QUIET, **more}


def free_port():
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return listener.getsockname()[1]


def end(process):
    """Ends a process with all that it started."""
    for sent in (signal.SIGTERM, signal.SIGKILL):
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, sent)
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(timeout=15)


@contextlib.contextmanager
def running(name, command, port, path, folder):
    """A server while the block runs; its output is in a file of the folder."""
    with open(folder / f"{name}.log", "wb") as log:
        process = subprocess.Popen(
            command, cwd=folder, env=environment(folder), stdin=subprocess.DEVNULL, stdout=log, stderr=log, start_new_session=True
        )
        try:
            wait(process, f"http://127.0.0.1:{port}{path}", folder / f"{name}.log")
            yield f"http://127.0.0.1:{port}"
        finally:
            end(process)


def wait(process, url, log, seconds=180):
    limit = time.monotonic() + seconds
    while time.monotonic() < limit:
        if process.poll() is not None:
            break
        with contextlib.suppress(OSError), urllib.request.urlopen(url, timeout=2):
            return
        time.sleep(0.2)
    text = " ".join(log.read_text(errors="replace").split())
    raise NotStarted(text[max(text.rfind("error:"), 0) :][:300])


def ken(name, program, folder, arguments):
    """`ken serve` with these arguments."""
    port = free_port()
    command = [program, "serve", *arguments, "--listen", f"127.0.0.1:{port}"]
    return running(name, command, port, "/ready", folder)


def litellm(name, python, folder, models, more=""):
    """LiteLLM's proxy, with models by name: each the model at an address. More of its settings are lines of YAML."""
    port = free_port()
    entries = [
        f"  - model_name: {model}\n    litellm_params: {{model: openai/{behind}, api_base: {address}/v1, api_key: none}}\n"
        for model, (behind, address) in models.items()
    ]
    settings = folder / f"{name}.yaml"
    settings.write_text(
        "model_list:\n" + "".join(entries) + "litellm_settings: {telemetry: false, num_retries: 0}\n"
        # Without a key of its own, as on one machine.
        "general_settings: {dangerously_permit_weak_or_unset_master_key: true}\n" + more
    )
    program = os.path.join(os.path.dirname(python), "litellm")
    command = [program, "--config", str(settings), "--host", "127.0.0.1", "--port", str(port), "--telemetry", "False"]
    return running(name, command, port, "/health/liveliness", folder)


def version(python, package):
    """The version of a package of another Python."""
    code = f"import importlib.metadata; print(importlib.metadata.version({package!r}))"
    return subprocess.run([python, "-c", code], capture_output=True, text=True, check=True).stdout.strip()
