"""OpenAI's Agents SDK."""
import asyncio

from agents import (
    Agent, FileSearchTool, ModelSettings, OpenAIChatCompletionsModel, OpenAIResponsesModel, Runner, function_tool, set_tracing_disabled,
)
from openai import AsyncOpenAI, BadRequestError

from rows import BASE, MODEL, QUESTION, SYSTEM, TOOL_QUESTION, Answer, check_berth, check_words, needs_tools, report, stand_in_only, tide
from stand_in import BERTH, HIGH

set_tracing_disabled(True)


def client():
    """A client for each run, since a run has its own event loop."""
    return AsyncOpenAI(base_url=BASE, api_key="none", max_retries=0)


def harbor(**more):
    return Agent(name="harbor", instructions=SYSTEM, model=OpenAIChatCompletionsModel(model=MODEL, openai_client=client()), **more)


@needs_tools
def tools():
    """agent with a tool, by chat completions: a call is demanded, and the tool's result is the output"""
    settings = ModelSettings(tool_choice="required", max_tokens=60)
    agent = harbor(tools=[function_tool(tide)], model_settings=settings, tool_use_behavior="stop_on_first_tool")
    assert Runner.run_sync(agent, TOOL_QUESTION, max_turns=2).final_output == "high"


@stand_in_only
def tools_read():
    """agent with a tool, by chat completions: the result is read"""
    agent = harbor(tools=[function_tool(tide)], model_settings=ModelSettings(max_tokens=60))
    check_words(Runner.run_sync(agent, TOOL_QUESTION, max_turns=4).final_output, HIGH)


def structured():
    """agent with an output type, by chat completions"""
    agent = harbor(output_type=Answer, model_settings=ModelSettings(max_tokens=60))
    check_berth(Runner.run_sync(agent, QUESTION).final_output.berth)


def streamed():
    """run_streamed, by chat completions"""

    async def ask():
        run = Runner.run_streamed(harbor(model_settings=ModelSettings(max_tokens=60)), QUESTION)
        kinds = [event.type async for event in run.stream_events()]
        assert "raw_response_event" in kinds
        return run.final_output

    check_words(asyncio.run(ask()), BERTH)


def by_responses():
    """agent with FileSearchTool, by responses"""
    agent = Agent(
        name="harbor", model=OpenAIResponsesModel(model="ken/always", openai_client=client()),
        tools=[FileSearchTool(vector_store_ids=["harbor"], max_num_results=2, include_search_results=True)],
    )
    run = Runner.run_sync(agent, QUESTION)
    check_words(run.final_output, BERTH)
    assert any(item.type == "tool_call_item" for item in run.new_items), run.new_items


def tools_by_responses():
    """agent with a tool of its own, by responses: refused by name, as documented"""
    agent = Agent(
        name="harbor", model=OpenAIResponsesModel(model=MODEL, openai_client=client()), tools=[function_tool(tide)],
        model_settings=ModelSettings(max_tokens=60),
    )
    try:
        Runner.run_sync(agent, TOOL_QUESTION, max_turns=4)
    except BadRequestError as error:
        assert error.param == "tools" and "file_search" in error.message, error
    else:
        raise AssertionError("the tool was taken")


report("openai-agents", [tools, tools_read, structured, streamed, by_responses, tools_by_responses])
