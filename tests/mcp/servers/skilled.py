"""A FastMCP server that serves a folder of skills: `.servers/fastmcp/bin/python skilled.py FOLDER`."""

from __future__ import annotations

import sys

from fastmcp import FastMCP
from fastmcp.server.providers.skills import SkillsDirectoryProvider
from fastmcp.skills.extension import SkillsExtension

provider = SkillsDirectoryProvider(sys.argv[1], reload=True, experimental_skills=True)
server = FastMCP("skilled", providers=[provider])
server.add_extension(SkillsExtension(providers=[provider]))

if __name__ == "__main__":
    server.run("stdio", show_banner=False)
