"""Imports toolhub in a second interpreter of this process."""

import toolhub

try:
    import _interpreters as interpreters  # 3.13 and later
except ImportError:
    import _xxsubinterpreters as interpreters

CODE = """
try:
    import toolhub
    print("imported", flush=True)
except ImportError as error:
    print("ImportError:", error, flush=True)
"""

second = interpreters.create()
failure = (interpreters.run_string if hasattr(interpreters, "run_string") else interpreters.exec)(
    second, CODE
)
if failure is not None:
    print("failed:", failure)
interpreters.destroy(second)
hub = toolhub.ToolHub()
hub.register(len, name="length")
print("the first goes on:", hub.call("length", {"obj": "abc"}).result)
