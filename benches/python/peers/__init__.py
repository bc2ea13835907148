"""What users have today, one adapter a file: `make(tool)` gives an async body that calls the tool through the peer."""

PEERS = ("langchain", "openai_agents", "toolregistry", "fastmcp", "pydantic_ai")
