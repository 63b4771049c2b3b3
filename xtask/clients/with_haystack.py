"""Haystack, by its generator for OpenAI's API."""
from haystack.components.embedders import OpenAITextEmbedder
from haystack.components.generators.chat import OpenAIChatGenerator
from haystack.dataclasses import ChatMessage
from haystack.tools import Tool
from haystack.utils import Secret

from rows import BASE, MODEL, PARAMETERS, QUESTION, SYSTEM, TOOL_QUESTION, check_call, check_words, needs_tools, report, tide
from stand_in import BERTH, HIGH

PLACE = {"api_key": Secret.from_token("none"), "api_base_url": BASE, "max_retries": 0}


def generator(**more):
    return OpenAIChatGenerator(**PLACE, model=MODEL, generation_kwargs={"max_tokens": 60}, **more)


def asked(question):
    return [ChatMessage.from_system(SYSTEM), ChatMessage.from_user(question)]


def chat_streamed():
    """OpenAIChatGenerator, streamed: its pieces are the reply"""
    pieces = []
    reply = generator(streaming_callback=lambda chunk: pieces.append(chunk.content)).run(asked(QUESTION))["replies"][0]
    assert "".join(pieces) == reply.text, (pieces, reply.text)
    check_words(reply.text, BERTH)


@needs_tools
def tools():
    """OpenAIChatGenerator: a call of a tool is demanded, its result is read"""
    offered = [Tool(name="tide", description="The tide of a port.", parameters=PARAMETERS, function=tide)]
    messages = asked(TOOL_QUESTION)
    first = generator(tools=offered).run(messages, generation_kwargs={"tool_choice": "required"})["replies"][0]
    called = first.tool_calls[0]
    check_call(called.tool_name, called.arguments)
    messages += [first, ChatMessage.from_tool(tool_result=tide(**called.arguments), origin=called)]
    check_words(generator().run(messages)["replies"][0].text, HIGH)


def embeddings():
    """OpenAITextEmbedder"""
    assert len(OpenAITextEmbedder(**PLACE, model="ken/embedder").run("a berth")["embedding"]) > 100


report("haystack-ai", [chat_streamed, tools, embeddings])
