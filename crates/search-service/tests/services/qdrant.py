"""Qdrant's HTTP API, as far as it is used, over the search in memory of its own client library.

Bodies are checked by the models of that library, which are made from Qdrant's schema: an unknown field is refused.
Usage: qdrant.py PORT
"""

import json
import sys
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from pydantic import ValidationError
from qdrant_client import QdrantClient, models

client = QdrantClient(":memory:")


def state(name):
    info = client.get_collection(name)
    return {"points_count": client.count(name).count, "config": {"params": info.config.params.model_dump(exclude_none=True)}}


def query(name, body):
    asked = models.QueryRequest.model_validate(body)
    found = client.query_points(
        name, query=asked.query, limit=asked.limit, with_payload=asked.with_payload, query_filter=asked.filter,
        using=asked.using,
    )
    return {"points": [point.model_dump() for point in found.points]}


def make(name, body):
    client.create_collection(name, vectors_config=models.CreateCollection.model_validate(body).vectors)
    return True


def put(name, body):
    client.upsert(name, models.PointsList.model_validate(body).points)
    return {}


ROUTES = {("GET", ""): lambda name, _: state(name), ("PUT", ""): make, ("PUT", "points"): put, ("POST", "points/query"): query}


class Handler(BaseHTTPRequestHandler):
    def answer(self):
        length = int(self.headers.get("content-length", 0))
        body = json.loads(self.rfile.read(length)) if length else None
        _, collections, name, *rest = self.path.split("/")
        route = ROUTES.get((self.command, "/".join(rest)))
        try:
            assert collections == "collections" and route, self.path
            if self.command != "PUT" and not client.collection_exists(name):
                return self.send(404, {"status": {"error": f"Not found: Collection `{name}` doesn't exist!"}})
            self.send(200, {"result": route(name, body), "status": "ok"})
        except (ValidationError, AssertionError) as error:
            self.send(400, {"status": {"error": str(error)}})

    do_GET = do_PUT = do_POST = answer

    def send(self, status, answer):
        text = json.dumps(answer).encode()
        self.send_response(status)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(text)))
        self.end_headers()
        self.wfile.write(text)

    def log_message(self, *_):
        pass


ThreadingHTTPServer(("127.0.0.1", int(sys.argv[1])), Handler).serve_forever()
