"""A local server of vectors that speaks the API of OpenAI: python benchmarks/serve_vectors.py MODEL_FOLDER [--port N]

For measuring `openai:` through the real client without a key of anybody: set OPENAI_BASE_URL to the address it prints.
The vectors are those of a sentence-transformers model; it serves one machine and is no server for anything else.
"""

from __future__ import annotations

import argparse
import json
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from ufo_experience.embed import open_embedder
from ufo_experience.embed.base import Embedder


def handler(embedder: Embedder) -> type[BaseHTTPRequestHandler]:
    """Answers POST …/embeddings."""

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            texts = [asked["input"]] if isinstance(asked["input"], str) else asked["input"]
            rows = [
                {"object": "embedding", "index": number, "embedding": vector.tolist()}
                for number, vector in enumerate(embedder.embed(texts))
            ]
            tokens = sum(map(len, texts)) // 4
            usage = {"prompt_tokens": tokens, "total_tokens": tokens}
            body = json.dumps({"object": "list", "model": asked["model"], "data": rows, "usage": usage}).encode()
            self.send_response(200)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, format: str, *arguments: object) -> None:
            """Keep quiet."""

    return Handler


def main() -> None:
    """Serve until interrupted."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("model", help="folder of a sentence-transformers model")
    parser.add_argument("--port", type=int, default=0)
    arguments = parser.parse_args()
    embedder = open_embedder(f"local:{arguments.model}")
    embedder.embed(["loaded before the first question"])
    server = ThreadingHTTPServer(("127.0.0.1", arguments.port), handler(embedder))
    print(f"http://127.0.0.1:{server.server_port}/v1", flush=True)
    server.serve_forever()


if __name__ == "__main__":
    main()
