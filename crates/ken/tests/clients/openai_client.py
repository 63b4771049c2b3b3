"""Asks a running server with OpenAI's official client. Arguments: the server's URL, and two that are not read."""

import sys

import openai

QUESTION = "Who is the keeper of the Orrin lighthouse?"


def messages(text=QUESTION):
    return [{"role": "user", "content": text}]


client = openai.OpenAI(base_url=sys.argv[1], api_key="none", max_retries=0)

ids = [model.id for model in client.models.list()]
assert "ken/always" in ids and "ken/never" in ids, ids
assert client.models.retrieve("ken/always").id == "ken/always"

whole = client.chat.completions.create(model="ken/always", messages=messages())
message = whole.choices[0].message
assert message.content and whole.choices[0].finish_reason == "stop", whole
assert whole.usage.total_tokens > 0
assert whole.ken["route"] == "corpus" and whole._request_id == whole.ken["request_id"]
for annotation in message.annotations:
    citation = annotation.url_citation
    assert 0 <= citation.start_index <= citation.end_index <= len(message.content)
    assert citation.title and citation.url.startswith("http://")

chunks = list(
    client.chat.completions.create(
        model="ken/always",
        messages=messages(),
        stream=True,
        stream_options={"include_usage": True},
    )
)
text = "".join(c.choices[0].delta.content or "" for c in chunks if c.choices)
assert text == message.content, (text, message.content)
assert chunks[-1].usage == whole.usage and not chunks[-1].choices
assert chunks[0].ken["route"] == "corpus"

with client.chat.completions.stream(model="ken/always", messages=messages()) as stream:
    kinds = {event.type for event in stream}
    final = stream.get_final_completion()
assert "content.delta" in kinds and "content.done" in kinds, kinds
assert final.choices[0].message.content == message.content
found = final.choices[0].message.annotations or []
assert len(found) == len(message.annotations), found

vectors = client.embeddings.create(model="ken/embedder", input=["a vane", "a bell"])
floats = client.embeddings.create(
    model="ken/embedder", input=["a vane", "a bell"], encoding_format="float"
)
for one, other in zip(vectors.data, floats.data, strict=True):
    assert all(abs(a - b) < 1e-6 for a, b in zip(one.embedding, other.embedding, strict=True))

answered = client.responses.create(
    model="ken/always", input=QUESTION, include=["file_search_call.results"]
)
assert answered.status == "completed" and answered.output_text == message.content, answered
search, said = answered.output
assert search.type == "file_search_call" and search.queries == [QUESTION], search
assert any(result.text for result in search.results), search
assert answered.usage.total_tokens == whole.usage.total_tokens
for annotation in said.content[0].annotations:
    assert annotation.type == "file_citation" and annotation.filename, annotation
    assert 0 <= annotation.start_index <= annotation.index <= len(answered.output_text)

# A client that offers the search as a tool is told of its call.
searching = [{"type": "file_search", "vector_store_ids": []}]
with client.responses.stream(model="ken/always", input=QUESTION, tools=searching) as stream:
    events = list(stream)
    final = stream.get_final_response()
kinds = [event.type for event in events]
assert kinds[0] == "response.created" and kinds[-1] == "response.completed", kinds
for kind in ["response.file_search_call.completed", "response.output_text.delta"]:
    assert kind in kinds, kinds
assert final.output_text == answered.output_text
assert final.output[-1].content[0].annotations == said.content[0].annotations
told = [event.annotation for event in events if event.type == "response.output_text.annotation.added"]
assert len(told) == len(said.content[0].annotations), told

history = [{"role": "user", "content": QUESTION}, *answered.output, {"role": "user", "content": "Thanks!"}]
thanks = client.responses.create(model="ken/always", input=history)
assert [item.type for item in thanks.output] == ["message"], thanks
from_memory = client.responses.create(model="ken", input=QUESTION, tool_choice="none")
assert [item.type for item in from_memory.output] == ["message"], from_memory

chosen = client.chat.completions.create(
    model="ken", messages=messages(), extra_body={"ken": {"policy": "never", "trace": True}}
)
assert chosen.model == "ken/never" and chosen.ken["route"] == "self"

text = client.completions.create(model="ken", prompt="The capital of France is", max_tokens=3, temperature=0, logprobs=1)
assert text.choices[0].text and len(text.choices[0].logprobs.tokens) == 3, text
pieces = client.completions.create(
    model="ken", prompt="The capital of France is", max_tokens=3, temperature=0, stream=True
)
assert "".join(piece.choices[0].text for piece in pieces) == text.choices[0].text

both = client.chat.completions.create(model="ken", messages=messages(), n=2, logprobs=True, max_tokens=5)
assert [choice.index for choice in both.choices] == [0, 1], both
assert all("".join(token.token for token in choice.logprobs.content) == choice.message.content for choice in both.choices), both

for error, call in [
    (openai.NotFoundError, lambda: client.chat.completions.create(model="gpt-5", messages=messages())),
    (openai.BadRequestError, lambda: client.chat.completions.create(model="ken", messages=messages(""))),
    (openai.BadRequestError, lambda: client.chat.completions.create(model="ken", messages=messages(), presence_penalty=1)),
    (
        openai.BadRequestError,
        lambda: client.chat.completions.create(model="ken", messages=messages("seal " * 20000), stream=True),
    ),
    (
        openai.BadRequestError,
        lambda: client.responses.create(model="ken", input="and?", previous_response_id="resp_1"),
    ),
    (
        openai.ConflictError,
        lambda: client.chat.completions.create(
            model="ken", messages=messages(), extra_body={"ken": {"generation": 99}}
        ),
    ),
]:
    try:
        call()
    except error as caught:
        assert caught.code and caught.request_id, caught
    else:
        raise AssertionError(f"{error} was not raised")

print("all right")
