"""How long a question takes while 100 clients have sent half of an upload and say nothing more.

    python3 stalled_uploads.py KEN MODELS
"""

import socket
import sys
import tempfile
import time

from memory import Server

ken, models = sys.argv[1:]
with tempfile.TemporaryDirectory() as folder:
    server = Server(ken, models, folder)
    try:
        server.ask(4)
        begun = time.time()
        server.ask(4)
        print(f"alone: {time.time() - begun:.2f} s")
        address = server.url.removeprefix("http://").split(":")
        part = 'content-disposition: form-data; name="file"; filename="half.md"\r\n\r\n' + "x" * 1000
        head = "POST /v1/ken/corpora/notes/documents HTTP/1.1\r\nhost: localhost\r\n"
        head += "content-type: multipart/form-data; boundary=b\r\ncontent-length: 100000\r\n\r\n--b\r\n"
        clients = []
        for _ in range(100):
            client = socket.create_connection((address[0], int(address[1])))
            client.sendall((head + part).encode())
            clients.append(client)
        time.sleep(1)
        begun = time.time()
        server.ask(4)
        print(f"beside 100 half uploads: {time.time() - begun:.2f} s")
    finally:
        server.end()
