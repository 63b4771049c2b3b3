"""LiteLLM's proxy, before `ken` or behind it, asked by OpenAI's client."""
import os

from openai import OpenAI

from rows import BASE, MODEL, QUESTION, TOOL, TOOL_QUESTION, Answer, asked, check_berth, check_call, check_words, needs_tools, report, tide
from stand_in import BERTH, HIGH

client = OpenAI(base_url=BASE, api_key="none", max_retries=0)
WAY = os.environ["TRIAL_WAY"]


def chat():
    """chat, whole"""
    check_words(client.chat.completions.create(model=MODEL, messages=asked(QUESTION), max_tokens=60).choices[0].message.content, BERTH)


def chat_streamed():
    """chat, streamed, with usage"""
    with client.chat.completions.stream(
        model=MODEL, messages=asked(QUESTION), max_tokens=60, stream_options={"include_usage": True}
    ) as stream:
        final = stream.get_final_completion()
    check_words(final.choices[0].message.content, BERTH)
    assert final.usage.total_tokens > 0


@needs_tools
def tools():
    """tools: a call is demanded, its result is read, the second turn streamed"""
    messages = asked(TOOL_QUESTION)
    first = client.chat.completions.create(model=MODEL, messages=messages, tools=[TOOL], tool_choice="required", max_tokens=60).choices[0].message
    called = first.tool_calls[0]
    check_call(called.function.name, called.function.arguments)
    messages += [first.model_dump(exclude_none=True), {"role": "tool", "tool_call_id": called.id, "content": tide("Orsand")}]
    with client.chat.completions.stream(model=MODEL, messages=messages, max_tokens=60) as stream:
        final = stream.get_final_completion()
    check_words(final.choices[0].message.content, HIGH)


@needs_tools
def tools_streamed():
    """tools, streamed"""
    with client.chat.completions.stream(
        model=MODEL, messages=asked(TOOL_QUESTION), tools=[TOOL], tool_choice="required", max_tokens=60
    ) as stream:
        called = stream.get_final_completion().choices[0].message.tool_calls[0]
    check_call(called.function.name, called.function.arguments)


def structured():
    """parse: a pydantic model"""
    check_berth(client.chat.completions.parse(model=MODEL, messages=asked(QUESTION), response_format=Answer, max_tokens=60).choices[0].message.parsed.berth)


def embeddings():
    """embeddings"""
    assert len(client.embeddings.create(model="vectors", input=["a berth"]).data[0].embedding) > 100


trials = [chat, chat_streamed, tools, tools_streamed, structured]
if WAY == "before ken":
    trials.append(embeddings)
for trial in trials:
    trial.__doc__ = f"proxy {WAY}; {trial.__doc__}"
report("litellm", trials)
