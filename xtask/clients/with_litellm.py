"""LiteLLM as a library."""
import litellm

from rows import BASE, MODEL, QUESTION, TOOL, TOOL_QUESTION, Answer, asked, check_berth, check_call, check_words, needs_tools, report, tide
from stand_in import BERTH, HIGH

PLACE = {"api_base": BASE, "api_key": "none", "num_retries": 0}


def ask(messages, **more):
    return litellm.completion(f"openai/{MODEL}", messages, max_tokens=60, **PLACE, **more)


def chat_streamed():
    """completion, streamed, with ken's own parameters"""
    chunks = ask(asked(QUESTION), stream=True, extra_body={"ken": {"k": 1}})
    check_words("".join(chunk.choices[0].delta.content or "" for chunk in chunks), BERTH)


@needs_tools
def tools():
    """completion: a call of a tool is demanded, its result is read, the second turn streamed"""
    messages = asked(TOOL_QUESTION)
    first = ask(messages, tools=[TOOL], tool_choice="required").choices[0].message
    called = first.tool_calls[0]
    check_call(called.function.name, called.function.arguments)
    messages += [first.model_dump(exclude_none=True), {"role": "tool", "tool_call_id": called.id, "content": tide("Orsand")}]
    check_words("".join(chunk.choices[0].delta.content or "" for chunk in ask(messages, stream=True)), HIGH)


def structured():
    """completion: response_format with a pydantic model"""
    check_berth(Answer.model_validate_json(ask(asked(QUESTION), response_format=Answer).choices[0].message.content).berth)


def embeddings():
    """embedding"""
    assert len(litellm.embedding("openai/ken/embedder", ["a berth", "a tide"], **PLACE).data[1]["embedding"]) > 100


report("litellm", [chat_streamed, tools, structured, embeddings])
