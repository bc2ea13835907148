"""A FastAPI application with a hub mounted below `/tools`: `python fastapi_app.py`, on uvicorn; prints the address."""

from __future__ import annotations

import socket
import sys
from pathlib import Path

import uvicorn
from fastapi import FastAPI

sys.path.insert(0, str(Path(__file__).parents[1] / "python/gateway"))

from programs import make_hub, origin

origin.set("the program")
app = FastAPI()


@app.get("/hello")
def hello() -> str:
    return "hi"


app.mount("/tools", make_hub().asgi(path="/mcp", sse_path="/sse"))
listener = socket.create_server(("127.0.0.1", 0))
print(f"http://127.0.0.1:{listener.getsockname()[1]}", flush=True)
uvicorn.Server(uvicorn.Config(app, log_level="warning")).run(sockets=[listener])
