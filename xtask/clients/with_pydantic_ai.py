"""Agents of Pydantic AI."""
import asyncio

from pydantic_ai import Agent, NativeOutput
from pydantic_ai.exceptions import UsageLimitExceeded
from pydantic_ai.models.openai import OpenAIChatModel
from pydantic_ai.providers.openai import OpenAIProvider
from pydantic_ai.usage import UsageLimits

from rows import BASE, MODEL, QUESTION, STAND_IN, SYSTEM, TOOL_QUESTION, Answer, check_berth, check_words, needs_tools, report, tide
from stand_in import BERTH

model = OpenAIChatModel(MODEL, provider=OpenAIProvider(base_url=BASE, api_key="none"))
settings = {"max_tokens": 60}


@needs_tools
def agent():
    """agent with a tool and an output type: the calls that are demanded, until the answer or four requests"""
    called = []

    def told(port: str) -> str:
        """The tide of a port."""
        called.append(port)
        return "high"

    told.__name__ = "tide"
    harbor = Agent(model, system_prompt=SYSTEM, tools=[told], output_type=Answer, model_settings=settings)
    try:
        check_berth(harbor.run_sync(TOOL_QUESTION, usage_limits=UsageLimits(request_limit=4)).output.berth)
        assert called or not STAND_IN
    except UsageLimitExceeded:
        # Which of the demanded calls comes is the model's choice.
        assert called and not STAND_IN


@needs_tools
def output():
    """agent with an output type, by a call"""
    check_berth(Agent(model, system_prompt=SYSTEM, output_type=Answer, model_settings=settings).run_sync(QUESTION).output.berth)


def native():
    """agent with an output type, by a JSON schema"""
    check_berth(Agent(model, system_prompt=SYSTEM, output_type=NativeOutput(Answer), model_settings=settings).run_sync(QUESTION).output.berth)


def streamed():
    """run_stream: the answer's pieces"""

    async def ask():
        async with Agent(model, system_prompt=SYSTEM, model_settings=settings).run_stream(QUESTION) as run:
            return "".join([piece async for piece in run.stream_text(delta=True)])

    check_words(asyncio.run(ask()), BERTH)


report("pydantic-ai-slim", [agent, output, native, streamed])
