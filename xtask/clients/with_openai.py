"""OpenAI's client for Python."""
import os

from openai import OpenAI

from rows import (
    BASE, MODEL, QUESTION, STAND_IN, TOOL, TOOL_QUESTION, Answer, asked, check_berth, check_call, check_words, inside_only, needs_tools,
    report, tide,
)
from stand_in import BERTH, HIGH

client = OpenAI(base_url=BASE, api_key="none", max_retries=0)
SEARCH = {"type": "file_search", "vector_store_ids": ["harbor"], "max_num_results": 2}


def models():
    """models: the policies are listed"""
    assert {"ken/always", "ken/never", "ken/embedder"} <= {model.id for model in client.models.list()}


def chat():
    """chat, whole: text, usage, route, and places of its citations"""
    answer = client.chat.completions.create(model="ken/always", messages=[{"role": "user", "content": QUESTION}])
    message = answer.choices[0].message
    check_words(message.content, BERTH)
    assert answer.ken["route"] == "corpus" and answer.usage.total_tokens > 0
    for annotation in message.annotations or []:
        cited = annotation.url_citation
        assert 0 <= cited.start_index < cited.end_index <= len(message.content) and cited.url.startswith("http")


def chat_streamed():
    """chat, streamed: the pieces are the text, usage and trace at the end"""
    pieces, trace = [], None
    with client.chat.completions.stream(
        model="ken/always", messages=[{"role": "user", "content": QUESTION}], stream_options={"include_usage": True}
    ) as stream:
        for event in stream:
            if event.type == "content.delta":
                pieces.append(event.delta)
            elif event.type == "chunk" and event.chunk.choices and event.chunk.choices[0].finish_reason:
                trace = event.chunk.ken
        final = stream.get_final_completion()
    assert "".join(pieces) == final.choices[0].message.content
    check_words("".join(pieces), BERTH)
    assert trace["route"] == "corpus" and final.usage.total_tokens > 0


@inside_only
def template():
    """chat with a system message, in the form of prompts that ken chooses: read by the chat template, as with logprobs"""
    plain = OpenAI(base_url=os.environ["TRIAL_PLAIN"] + "/v1", api_key="none", max_retries=0)
    read = [
        plain.chat.completions.create(model="ken/never", messages=asked(), max_tokens=20, **more).usage.prompt_tokens
        for more in ({}, {"logprobs": True})
    ]
    assert read[0] == read[1], f"{read[0]} tokens were read, and {read[1]} with logprobs"


@needs_tools
def tools():
    """tools: a call is demanded, its result is read, the second turn streamed"""
    messages = asked(TOOL_QUESTION)
    first = client.chat.completions.create(model=MODEL, messages=messages, tools=[TOOL], tool_choice="required", max_tokens=60).choices[0]
    called = first.message.tool_calls[0]
    check_call(called.function.name, called.function.arguments)
    assert first.finish_reason == "tool_calls", first.finish_reason
    messages += [first.message.model_dump(exclude_none=True), {"role": "tool", "tool_call_id": called.id, "content": tide("Orsand")}]
    with client.chat.completions.stream(model=MODEL, messages=messages, max_tokens=60) as stream:
        final = stream.get_final_completion()
    check_words(final.choices[0].message.content, HIGH)


@needs_tools
def tools_streamed():
    """tools, streamed: a call of the one that is named"""
    choice = {"type": "function", "function": {"name": "tide"}}
    with client.chat.completions.stream(
        model=MODEL, messages=asked(TOOL_QUESTION), tools=[TOOL], tool_choice=choice, max_tokens=60
    ) as stream:
        called = stream.get_final_completion().choices[0].message.tool_calls[0]
    check_call(called.function.name, called.function.arguments)


def structured():
    """parse: a pydantic model"""
    answer = client.chat.completions.parse(model=MODEL, messages=asked(), response_format=Answer, max_tokens=60)
    check_berth(answer.choices[0].message.parsed.berth)


def several():
    """n=2: two choices"""
    choices = client.chat.completions.create(model=MODEL, messages=asked(), n=2, max_tokens=20).choices
    assert [choice.index for choice in choices] == [0, 1]
    for choice in choices:
        check_words(choice.message.content, BERTH)


def log_probabilities():
    """logprobs: of each token, and they make up the text"""
    choice = client.chat.completions.create(model=MODEL, messages=asked(), logprobs=True, top_logprobs=2, max_tokens=20).choices[0]
    tokens = choice.logprobs.content
    text = b"".join(bytes(token.bytes) for token in tokens).decode(errors="replace")
    assert all(token.logprob <= 0 for token in tokens) and choice.message.content.strip() in text, (text, choice.message.content)
    assert STAND_IN or all(len(token.top_logprobs) == 2 for token in tokens)


def embeddings():
    """embeddings: as base64, which the client asks for, and as numbers"""
    coded = client.embeddings.create(model="ken/embedder", input=["a berth", "a tide"])
    plain = client.embeddings.create(model="ken/embedder", input=["a berth", "a tide"], encoding_format="float")
    for left, right in zip(coded.data, plain.data, strict=True):
        assert len(left.embedding) == len(right.embedding) > 100
        assert all(abs(a - b) < 1e-6 for a, b in zip(left.embedding, right.embedding))


def responses():
    """responses with file_search, whole: the search, its results, a file citation"""
    answer = client.responses.create(
        model="ken/always", input=QUESTION, tools=[SEARCH], tool_choice="required", include=["file_search_call.results"]
    )
    search, message = answer.output
    assert search.type == "file_search_call" and "14" in search.results[0].text
    assert answer.status == "completed", answer.status
    check_words(answer.output_text, BERTH)
    assert all(annotation.type == "file_citation" for annotation in message.content[0].annotations)


def responses_streamed():
    """responses with file_search, streamed"""
    pieces = []
    with client.responses.stream(model="ken/always", input=QUESTION, tools=[SEARCH]) as stream:
        for event in stream:
            if event.type == "response.output_text.delta":
                pieces.append(event.delta)
        final = stream.get_final_response()
    assert "".join(pieces) == final.output_text
    check_words(final.output_text, BERTH)


report("openai", [
    models, chat, chat_streamed, template, tools, tools_streamed, structured, several, log_probabilities, embeddings, responses, responses_streamed,
])
