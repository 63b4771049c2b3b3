"""The Inspector of MCP on the command line, by HTTP and as the process that starts `ken`."""
import json
import os
import pathlib
import subprocess

from rows import QUESTION, SERVER, report

MODULES = pathlib.Path(os.environ["TRIAL_MODULES"])
INSPECTOR = MODULES / "@modelcontextprotocol" / "inspector"


def inspect(target, *more):
    """The JSON that it prints."""
    settings = json.loads((INSPECTOR / "package.json").read_text())
    program = INSPECTOR / settings["bin"]["mcp-inspector"]
    command = [os.environ["TRIAL_NODE"], str(program), "--cli", *target, *more]
    done = subprocess.run(command, capture_output=True, text=True, stdin=subprocess.DEVNULL, timeout=300)
    assert done.returncode == 0, f"{done.returncode}: {done.stderr[-300:]} {done.stdout[-200:]}"
    return json.loads(done.stdout)


def use(target, *more):
    tools = inspect(target, *more, "--method", "tools/list")["tools"]
    assert {tool["name"] for tool in tools} == {"search", "fetch", "ask", "knows"}, tools
    called = inspect(target, *more, "--method", "tools/call", "--tool-name", "search", "--tool-arg", f"query={QUESTION}")
    assert not called.get("isError") and "harbor.md" in called["structuredContent"]["results"][0]["id"], called
    resources = inspect(target, *more, "--method", "resources/list")["resources"]
    assert any("harbor.md" in resource["name"] for resource in resources), resources


def http():
    """--cli by HTTP: tools/list, tools/call"""
    use([f"{SERVER}/mcp"], "--transport", "http")


def stdio():
    """--cli by stdio: tools/list, tools/call"""
    file = pathlib.Path("inspector.json")
    program, *arguments = json.loads(os.environ["TRIAL_MCP"])
    file.write_text(json.dumps({"mcpServers": {"harbor": {"command": program, "args": arguments}}}))
    use(["--config", str(file.resolve()), "--server", "harbor"])


report("@modelcontextprotocol/inspector", [http, stdio], json.loads((INSPECTOR / "package.json").read_text())["version"])
