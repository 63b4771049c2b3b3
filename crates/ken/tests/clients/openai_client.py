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

chosen = client.chat.completions.create(
    model="ken", messages=messages(), extra_body={"ken": {"policy": "never", "trace": True}}
)
assert chosen.model == "ken/never" and chosen.ken["route"] == "self"

for error, call in [
    (openai.NotFoundError, lambda: client.chat.completions.create(model="gpt-5", messages=messages())),
    (openai.BadRequestError, lambda: client.chat.completions.create(model="ken", messages=messages(""))),
    (openai.BadRequestError, lambda: client.chat.completions.create(model="ken", messages=messages(), n=2)),
    (
        openai.BadRequestError,
        lambda: client.chat.completions.create(model="ken", messages=messages("seal " * 20000), stream=True),
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
