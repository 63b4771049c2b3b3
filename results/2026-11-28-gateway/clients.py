"""Clients that others wrote, with tools and formats of their own, through `ken serve` to a model server.

    python3 -m venv venv && venv/bin/pip install uv
    venv/bin/uv pip install --python venv/bin/python langchain-openai haystack-ai instructor "pydantic-ai-slim[openai]" openai-agents litellm
    venv/bin/python clients.py KEN CORPUS > clients.csv
    venv/bin/uv pip install --python venv/bin/python llama-index-llms-openai-like      # takes an older openai
    venv/bin/python clients.py KEN CORPUS llamaindex >> clients.csv

The model server is a stand-in that speaks OpenAI's API as a model with tools does: it calls the first tool that it is offered, answers from the
tool's result once there is one, and writes JSON by the schema where it is asked for some. Each client runs one loop with a tool and, where it has
that, one structured answer, whole or streamed, all by `ken/always`. A line says what the client got, and whether the evidence reached the server.
"""
import importlib.metadata
import json
import subprocess
import sys
import threading
import time
import traceback
import urllib.request
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

ken, corpus, *only = sys.argv[1:]
seen = []


def reply_to(body):
    """The message of the model, and why it ends."""
    schema = body.get("response_format", {}).get("json_schema", {}).get("schema")
    results = [one for one in body["messages"] if one["role"] == "tool"]
    tools = body.get("tools") or []
    if results:
        names = [tool["function"]["name"] for tool in tools]
        final = next((tool for tool in tools if tool["function"]["name"] in ("final_result", "Answer")), None)
        if final and "tide" in names:
            return call(final, {"berth": 14}), "tool_calls"
        return {"role": "assistant", "content": f"The tide is {results[-1]['content']}."}, "stop"
    if schema:
        return {"role": "assistant", "content": json.dumps({"berth": 14})}, "stop"
    if tools:
        tool = next((one for one in tools if one["function"]["name"] == "tide"), tools[0])
        needs = tool["function"]["parameters"].get("properties", {})
        arguments = {name: 14 if name == "berth" else "Orsand" for name in needs}
        return call(tool, arguments), "tool_calls"
    return {"role": "assistant", "content": '{"berth": 14}'}, "stop"


def call(tool, arguments):
    function = {"name": tool["function"]["name"], "arguments": json.dumps(arguments)}
    return {"role": "assistant", "content": None, "tool_calls": [{"id": "call_1", "type": "function", "function": function}]}


class Model(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *_):
        pass

    def send(self, data, kind="application/json", status=200):
        self.send_response(status)
        self.send_header("content-type", kind)
        self.send_header("content-length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def do_GET(self):
        self.send(json.dumps({"object": "list", "data": [{"id": "stand-in", "object": "model"}]}).encode())

    def do_POST(self):
        body = json.loads(self.rfile.read(int(self.headers["content-length"])))
        if not self.path.endswith("/chat/completions"):
            return self.send(b'{"error": {"message": "no such route"}}', status=404)
        seen.append(body)
        message, reason = reply_to(body)
        head = {"id": "x", "created": 1, "model": "stand-in"}
        usage = {"prompt_tokens": 30, "completion_tokens": 5, "total_tokens": 35}
        if not body.get("stream"):
            choice = {"index": 0, "message": message, "finish_reason": reason}
            whole = {**head, "object": "chat.completion", "choices": [choice], "usage": usage}
            return self.send(json.dumps(whole).encode())
        deltas = [{"role": "assistant", "content": ""}]
        for index, one in enumerate(message.get("tool_calls", [])):
            deltas.append({"tool_calls": [{**one, "index": index}]})
        for word in (message.get("content") or "").split(" "):
            deltas.append({"content": word + " "})
        chunks = [{"index": 0, "delta": delta, "finish_reason": None} for delta in deltas]
        chunks.append({"index": 0, "delta": {}, "finish_reason": reason})
        events = [{**head, "object": "chat.completion.chunk", "choices": [chunk]} for chunk in chunks]
        if (body.get("stream_options") or {}).get("include_usage"):
            events.append({**head, "object": "chat.completion.chunk", "choices": [], "usage": usage})
        lines = [f"data: {json.dumps(event)}\n\n" for event in events] + ["data: [DONE]\n\n"]
        self.send("".join(lines).encode(), "text/event-stream")


QUESTION = "How do I make a corpus of my notes?"
SYSTEM = "You answer for the harbor office."
MODEL = "ken/always"
BASE = "http://127.0.0.1:8498/v1"
PARAMETERS = {"type": "object", "properties": {"port": {"type": "string"}}, "required": ["port"]}
TOOL = {"type": "function", "function": {"name": "tide", "description": "The tide of a port.", "parameters": PARAMETERS}}
HIGH = "The tide is high."


def tide(port: str) -> str:
    """The tide of a port."""
    return "high"


def openai_tools():
    from openai import OpenAI

    client = OpenAI(base_url=BASE, api_key="none")
    messages = [{"role": "system", "content": SYSTEM}, {"role": "user", "content": QUESTION}]
    first = client.chat.completions.create(model=MODEL, messages=messages, tools=[TOOL]).choices[0].message
    messages += [first.model_dump(exclude_none=True), {"role": "tool", "tool_call_id": first.tool_calls[0].id, "content": tide("x")}]
    route = None
    with client.chat.completions.stream(model=MODEL, messages=messages, tools=[TOOL]) as stream:
        for event in stream:
            if event.type == "chunk":
                route = (event.chunk.model_extra.get("ken") or {}).get("route", route)
        said = stream.get_final_completion()
    assert route == "corpus", route
    return said.choices[0].message.content.strip()


def openai_structured():
    from openai import OpenAI
    from pydantic import BaseModel

    class Answer(BaseModel):
        berth: int

    client = OpenAI(base_url=BASE, api_key="none")
    said = client.chat.completions.parse(model=MODEL, messages=[{"role": "user", "content": QUESTION}], response_format=Answer)
    return said.choices[0].message.parsed.berth


def langchain_tools():
    from langchain_core.messages import HumanMessage, SystemMessage, ToolMessage
    from langchain_core.tools import tool
    from langchain_openai import ChatOpenAI

    model = ChatOpenAI(base_url=BASE, api_key="none", model=MODEL).bind_tools([tool(tide)])
    messages = [SystemMessage(SYSTEM), HumanMessage(QUESTION)]
    first = model.invoke(messages)
    messages += [first, ToolMessage(tide("x"), tool_call_id=first.tool_calls[0]["id"])]
    return "".join(chunk.content for chunk in model.stream(messages)).strip()


def langchain_structured():
    from langchain_openai import ChatOpenAI
    from pydantic import BaseModel

    class Answer(BaseModel):
        berth: int

    return ChatOpenAI(base_url=BASE, api_key="none", model=MODEL).with_structured_output(Answer).invoke(QUESTION).berth


def llamaindex_tools():
    from llama_index.core.base.llms.types import ChatMessage
    from llama_index.core.tools import FunctionTool
    from llama_index.llms.openai_like import OpenAILike

    model = OpenAILike(api_base=BASE, api_key="none", model=MODEL, is_chat_model=True, is_function_calling_model=True)
    messages = [ChatMessage(role="system", content=SYSTEM), ChatMessage(role="user", content=QUESTION)]
    return str(model.predict_and_call([FunctionTool.from_defaults(tide)], chat_history=messages)).strip()


def haystack_tools():
    from haystack.components.generators.chat import OpenAIChatGenerator
    from haystack.dataclasses import ChatMessage
    from haystack.tools import Tool
    from haystack.utils import Secret

    tools = [Tool(name="tide", description="The tide of a port.", parameters=PARAMETERS, function=tide)]
    model = OpenAIChatGenerator(api_key=Secret.from_token("none"), api_base_url=BASE, model=MODEL, tools=tools)
    messages = [ChatMessage.from_system(SYSTEM), ChatMessage.from_user(QUESTION)]
    first = model.run(messages)["replies"][0]
    messages += [first, ChatMessage.from_tool(tool_result=tide("x"), origin=first.tool_calls[0])]
    return model.run(messages)["replies"][0].text


def instructor_structured():
    import instructor
    from openai import OpenAI
    from pydantic import BaseModel

    class Answer(BaseModel):
        berth: int

    client = instructor.from_openai(OpenAI(base_url=BASE, api_key="none"))
    messages = [{"role": "system", "content": SYSTEM}, {"role": "user", "content": QUESTION}]
    return client.chat.completions.create(model=MODEL, response_model=Answer, messages=messages).berth


def pydantic_ai_agent():
    from pydantic import BaseModel
    from pydantic_ai import Agent
    from pydantic_ai.models.openai import OpenAIChatModel
    from pydantic_ai.providers.openai import OpenAIProvider

    class Answer(BaseModel):
        berth: int

    model = OpenAIChatModel(MODEL, provider=OpenAIProvider(base_url=BASE, api_key="none"))
    return Agent(model, system_prompt=SYSTEM, tools=[tide], output_type=Answer).run_sync(QUESTION).output.berth


def agents_sdk():
    from agents import Agent, OpenAIChatCompletionsModel, Runner, function_tool, set_tracing_disabled
    from openai import AsyncOpenAI

    set_tracing_disabled(True)
    model = OpenAIChatCompletionsModel(model=MODEL, openai_client=AsyncOpenAI(base_url=BASE, api_key="none"))
    agent = Agent(name="harbor", instructions=SYSTEM, model=model, tools=[function_tool(tide)])
    return Runner.run_sync(agent, QUESTION).final_output


def litellm_tools():
    import litellm

    messages = [{"role": "system", "content": SYSTEM}, {"role": "user", "content": QUESTION}]
    ask = lambda **more: litellm.completion(f"openai/{MODEL}", messages, api_base=BASE, api_key="none", tools=[TOOL], **more)
    first = ask().choices[0].message
    messages += [first.model_dump(exclude_none=True), {"role": "tool", "tool_call_id": first.tool_calls[0].id, "content": tide("x")}]
    return "".join(chunk.choices[0].delta.content or "" for chunk in ask(stream=True)).strip()


CLIENTS = [
    (openai_tools, "openai", HIGH),
    (openai_structured, "openai", 14),
    (langchain_tools, "langchain-openai", HIGH),
    (langchain_structured, "langchain-openai", 14),
    (llamaindex_tools, "llama-index-llms-openai-like", "high"),
    (haystack_tools, "haystack-ai", HIGH),
    (instructor_structured, "instructor", 14),
    (pydantic_ai_agent, "pydantic-ai-slim", 14),
    (agents_sdk, "openai-agents", HIGH),
    (litellm_tools, "litellm", HIGH),
]

server = ThreadingHTTPServer(("127.0.0.1", 0), Model)
threading.Thread(target=server.serve_forever, daemon=True).start()
address = f"http://127.0.0.1:{server.server_address[1]}/v1"
command = [ken, "serve", "--corpus", corpus, "--model", address, "--listen", "127.0.0.1:8498"]
front = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
failed = 0
try:
    for _ in range(600):
        try:
            urllib.request.urlopen("http://127.0.0.1:8498/ready", timeout=1)
            break
        except OSError:
            time.sleep(0.1)
    if not only:
        print("client,version,what,got,requests,with evidence")
    for run, package, expected in CLIENTS:
        if run.__name__.startswith("llamaindex") != bool(only):
            continue
        seen.clear()
        try:
            got = run()
        except Exception as error:
            traceback.print_exc(limit=-2)
            got = f"{type(error).__name__}: {error}"[:200].replace("\n", " ")
        # The evidence stands in the question of each request.
        evidence = sum("were found for the question" in json.dumps(one["messages"]) for one in seen)
        right = got == expected and evidence == len(seen) > 0
        failed += not right
        version = importlib.metadata.version(package)
        print(f'{package},{version},{run.__name__},{got if right else "WRONG " + str(got)},{len(seen)},{evidence}', flush=True)
finally:
    front.terminate()
    front.wait()
sys.exit(failed > 0)
