"""Agents of smolagents."""
from smolagents import CodeAgent, OpenAIModel, ToolCallingAgent, tool

from rows import BASE, MODEL, TOOL_QUESTION, check_words, needs_tools, report, stand_in_only, tide
from stand_in import HIGH

model = OpenAIModel(model_id=MODEL, api_base=BASE, api_key="none", max_tokens=80)


@needs_tools
def tools():
    """ToolCallingAgent with a tool: its calls are demanded, for three steps at most"""
    agent = ToolCallingAgent(tools=[tool(tide)], model=model, max_steps=3, verbosity_level=0)
    check_words(str(agent.run(TOOL_QUESTION)), HIGH)
    assert any(getattr(step, "tool_calls", None) for step in agent.memory.steps)


@needs_tools
def tools_streamed():
    """ToolCallingAgent with a tool, streamed"""
    agent = ToolCallingAgent(tools=[tool(tide)], model=model, max_steps=3, verbosity_level=0, stream_outputs=True)
    check_words(str(agent.run(TOOL_QUESTION)), HIGH)
    assert any(getattr(step, "tool_calls", None) for step in agent.memory.steps)


@stand_in_only
def code():
    """CodeAgent with a tool: the code is the stand-in's, run by the interpreter of smolagents"""
    assert CodeAgent(tools=[tool(tide)], model=model, max_steps=2, verbosity_level=0).run(TOOL_QUESTION) == "high"


report("smolagents", [tools, tools_streamed, code])
