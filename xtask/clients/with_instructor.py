"""instructor, over OpenAI's client."""
import instructor
from openai import OpenAI

from rows import BASE, MODEL, Answer, asked, check_berth, needs_tools, report

asking = {"model": MODEL, "messages": asked(), "max_tokens": 60, "max_retries": 0}


def client(mode):
    return instructor.from_openai(OpenAI(base_url=BASE, api_key="none", max_retries=0), mode=mode)


@needs_tools
def by_call():
    """response_model: by a call (the default mode)"""
    check_berth(client(instructor.Mode.TOOLS).chat.completions.create(response_model=Answer, **asking).berth)


def by_schema():
    """response_model: by a JSON schema"""
    check_berth(client(instructor.Mode.JSON_SCHEMA).chat.completions.create(response_model=Answer, **asking).berth)


@needs_tools
def partly():
    """create_partial: by a call, streamed"""
    *_, last = client(instructor.Mode.TOOLS).chat.completions.create_partial(response_model=Answer, **asking)
    check_berth(last.berth)


report("instructor", [by_call, by_schema, partly])
