"""Vector stores and kept responses by OpenAI's official client: the server at the address that is given has no keys."""

import sys

import openai

client = openai.OpenAI(base_url=sys.argv[1], api_key="none", max_retries=0)

store = client.vector_stores.create(name="Team handbook (2026)", metadata={"a": "b"})
assert store.id.startswith("vs_") and store.name == "Team handbook (2026)", store
store = client.vector_stores.update(store.id, name="Handbook")
assert (store.name, store.metadata) == ("Handbook", {"a": "b"}), store

batch = client.vector_stores.file_batches.upload_and_poll(
    store.id,
    files=[("gate.md", b"The gate is opened by Quirin."), ("mill.md", b"The mill grinds oats.")],
    poll_interval_ms=20,
)
assert (batch.status, batch.file_counts.completed) == ("completed", 2), batch
files = list(client.vector_stores.file_batches.list_files(batch.id, vector_store_id=store.id))
assert len(files) == 2, files
gate = next(file.id for file in files if client.files.retrieve(file.id).filename == "gate.md")
described = client.vector_stores.files.update(
    gate, vector_store_id=store.id, attributes={"year": 2026, "open": True}
)
assert described.attributes == {"year": 2026, "open": True}, described

found = client.vector_stores.search(
    store.id, query="who opens it", filters={"type": "gte", "key": "year", "value": 2020}
).data
assert [hit.file_id for hit in found] == [gate], found
assert found[0].attributes == {"year": 2026, "open": True}, found
assert client.files.content(gate).content == b"The gate is opened by Quirin."
text = client.vector_stores.files.content(gate, vector_store_id=store.id)
assert [part.text for part in text] == ["The gate is opened by Quirin."], text

more = client.vector_stores.file_batches.create_and_poll(
    store.id, files=[{"file_id": gate, "attributes": {"year": 1999}}], poll_interval_ms=20
)
assert more.status == "completed", more
try:
    client.vector_stores.file_batches.retrieve("vsfb_none", vector_store_id=store.id)
    raise AssertionError("there is no such batch")
except openai.NotFoundError as error:
    assert (error.code, error.param) == ("unknown_batch", "batch_id"), error
first = client.responses.create(model="ken/always", input="Who changes the oil?")
assert first.output_text == "Ida" and client.responses.retrieve(first.id).output_text == "Ida", first
with client.responses.stream(
    model="ken/always", input="And in which month does that person do so?", previous_response_id=first.id
) as stream:
    second = stream.get_final_response()
assert second.output_text == "May", second
[item] = client.responses.input_items.list(second.id)
assert item.content[0].text.startswith("And in which month"), item
client.responses.delete(first.id)
try:
    client.responses.create(model="ken", input="x", previous_response_id=first.id)
    raise AssertionError("it is gone")
except openai.BadRequestError as error:
    assert (error.code, error.param) == ("previous_response_not_found", "previous_response_id"), error

assert client.vector_stores.delete(store.id).deleted
print("all right")
