"""LangChain, by its package for OpenAI's API."""
from langchain_core.messages import HumanMessage, SystemMessage, ToolMessage
from langchain_core.tools import tool
from langchain_openai import ChatOpenAI, OpenAIEmbeddings

from rows import BASE, MODEL, QUESTION, SYSTEM, TOOL_QUESTION, Answer, check_berth, check_call, check_words, needs_tools, report, tide
from stand_in import BERTH, HIGH

model = ChatOpenAI(base_url=BASE, api_key="none", model=MODEL, max_tokens=60, max_retries=0)


def streamed():
    """stream: a question, its pieces, and usage"""
    chunks = list(model.stream([SystemMessage(SYSTEM), HumanMessage(QUESTION)], stream_usage=True))
    check_words("".join(chunk.content for chunk in chunks), BERTH)
    assert any(chunk.usage_metadata for chunk in chunks)


@needs_tools
def tools():
    """bind_tools: a call is demanded, its result is read, the second turn streamed"""
    messages = [SystemMessage(SYSTEM), HumanMessage(TOOL_QUESTION)]
    first = model.bind_tools([tool(tide)], tool_choice="any").invoke(messages)
    called = first.tool_calls[0]
    check_call(called["name"], called["args"])
    messages += [first, ToolMessage(tide("Orsand"), tool_call_id=called["id"])]
    check_words("".join(chunk.content for chunk in model.stream(messages)), HIGH)


@needs_tools
def tools_streamed():
    """bind_tools, streamed: the pieces of a call make up one"""
    chunks = list(model.bind_tools([tool(tide)], tool_choice="tide").stream([HumanMessage(TOOL_QUESTION)]))
    whole = sum(chunks[1:], chunks[0])
    check_call(whole.tool_calls[0]["name"], whole.tool_calls[0]["args"])


def structured():
    """with_structured_output: a pydantic model, by a JSON schema"""
    check_berth(model.with_structured_output(Answer).invoke([SystemMessage(SYSTEM), HumanMessage(QUESTION)]).berth)


@needs_tools
def structured_by_call():
    """with_structured_output: a pydantic model, by a call"""
    by_call = model.with_structured_output(Answer, method="function_calling")
    check_berth(by_call.invoke([SystemMessage(SYSTEM), HumanMessage(QUESTION)]).berth)


def embeddings():
    """OpenAIEmbeddings: documents and a query, as texts (check_embedding_ctx_length off)"""
    embedder = OpenAIEmbeddings(base_url=BASE, api_key="none", model="ken/embedder", check_embedding_ctx_length=False)
    assert len(embedder.embed_documents(["a berth", "a tide"])[1]) == len(embedder.embed_query("a berth")) > 100


report("langchain-openai", [streamed, tools, tools_streamed, structured, structured_by_call, embeddings])
