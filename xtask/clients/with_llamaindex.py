"""LlamaIndex, by its package for servers like OpenAI's."""
from llama_index.core.base.llms.types import ChatMessage
from llama_index.core.tools import FunctionTool
from llama_index.llms.openai_like import OpenAILike

from rows import BASE, MODEL, QUESTION, SYSTEM, TOOL_QUESTION, Answer, check_berth, check_words, needs_tools, report, tide
from stand_in import BERTH

model = OpenAILike(
    api_base=BASE, api_key="none", model=MODEL, is_chat_model=True, is_function_calling_model=True, max_tokens=60, max_retries=0,
    should_use_structured_outputs=True,
)


def asked(question):
    return [ChatMessage(role="system", content=SYSTEM), ChatMessage(role="user", content=question)]


def chat():
    """chat"""
    check_words(model.chat(asked(QUESTION)).message.content, BERTH)


def chat_streamed():
    """stream_chat"""
    check_words("".join(piece.delta or "" for piece in model.stream_chat(asked(QUESTION))), BERTH)


@needs_tools
def tools():
    """predict_and_call: a call is demanded, and the tool runs"""
    said = model.predict_and_call([FunctionTool.from_defaults(tide)], chat_history=asked(TOOL_QUESTION), tool_required=True)
    assert str(said).strip() == "high", said


def structured():
    """as_structured_llm: a pydantic model"""
    check_berth(model.as_structured_llm(Answer).chat(asked(QUESTION)).raw.berth)


report("llama-index-llms-openai-like", [chat, chat_streamed, tools, structured])
