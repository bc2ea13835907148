"""FastMCP's proxy in front of an HTTP server: PORT URL."""

import sys

from fastmcp.server import create_proxy

create_proxy(sys.argv[2]).run(
    transport="http", port=int(sys.argv[1]), path="/mcp", show_banner=False, log_level="warning"
)
