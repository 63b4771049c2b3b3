#!/usr/bin/env python3
"""Asks a question in the console of a running server and writes a picture of the page, as PNG.

    python3 screenshot.py http://127.0.0.1:8484/ "What does ken corpus push do?" > ../../docs/images/console.png

Chromium is driven by its DevTools protocol over a pipe, so nothing but Python and Chromium is needed.
"""
import base64
import json
import os
import subprocess
import sys
import tempfile
import time

SIZE = {"width": 1280, "height": 640, "deviceScaleFactor": 1, "mobile": False}
PATIENCE_S = 120


class Browser:
    """A page of a headless Chromium, which reads its calls from descriptor 3 and answers on 4."""

    def __init__(self, profile):
        calls, self.calls = os.pipe()
        answers, written = os.pipe()
        self.answers = os.fdopen(answers, "rb")
        self.last, self.session = 0, None
        flags = ["--headless=new", "--remote-debugging-pipe", "--no-sandbox", "--hide-scrollbars", f"--user-data-dir={profile}"]
        shell = ["sh", "-c", f'exec "$@" 3<&{calls} 4>&{written}', "sh"]
        self.process = subprocess.Popen(
            [*shell, "chromium", *flags, "about:blank"], pass_fds=(calls, written), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        )
        os.close(calls)
        os.close(written)
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        self.session = self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]

    def call(self, method, **parameters):
        self.last += 1
        message = {"id": self.last, "method": method, "params": parameters}
        if self.session:
            message["sessionId"] = self.session
        os.write(self.calls, json.dumps(message).encode() + b"\0")
        while True:
            answer = json.loads(self.message())
            if answer.get("id") == self.last:
                return answer["result"]

    def message(self):
        content = bytearray()
        while (byte := self.answers.read(1)) != b"\0":
            if not byte:
                sys.exit("Chromium ended")
            content += byte
        return content

    def value(self, expression):
        return self.call("Runtime.evaluate", expression=expression, returnByValue=True)["result"].get("value")

    def until(self, expression):
        deadline = time.monotonic() + PATIENCE_S
        while not self.value(f"Boolean({expression})"):
            if time.monotonic() > deadline:
                sys.exit(f"never true: {expression}")
            time.sleep(0.2)

    def end(self):
        os.close(self.calls)
        self.process.wait()


address, question = sys.argv[1:]
with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as profile:
    browser = Browser(profile)
    browser.call("Emulation.setDeviceMetricsOverride", **SIZE)
    browser.call("Page.navigate", url=address)
    browser.until("document.querySelector('form textarea')")
    browser.value("document.querySelector('form textarea').focus()")
    browser.call("Input.insertText", text=question)
    browser.value("document.querySelector('form textarea').form.requestSubmit()")
    browser.until("document.querySelector('article')")
    browser.until("[...document.querySelectorAll('button')].some(button => button.textContent === 'Stop' && button.disabled)")
    browser.value("document.activeElement.blur(); scrollTo(0, 0)")
    sys.stdout.buffer.write(base64.b64decode(browser.call("Page.captureScreenshot")["data"]))
    browser.end()
