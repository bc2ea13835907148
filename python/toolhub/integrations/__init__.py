"""The hub in other frameworks, and their tools in the hub. One module for each: `fastmcp`, `langchain`, `pydantic_ai`,
`openai_agents`.

A framework is imported when a function of its module is called, so that the hub needs none of them. The modules only
translate: choosing candidates, checking arguments, effects and errors are the hub's.
"""
