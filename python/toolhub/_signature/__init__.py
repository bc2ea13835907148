"""From any Python callable to a tool: name, description, JSON Schema, builder of values, way of calling.

The flow, one file a step::

    what is it            callables.py   kind of callable, sync or async, what hides under partial and wraps
    what does it take     parameters.py  signature and resolved type hints;  docstrings.py: descriptions
    what may be passed    plain.py       signatures that need no pydantic;  arguments.py: those that do
                          exact.py       a builder that converts no scalars, with linear patterns
                          schema.py      the JSON Schema with its descriptions;  readable.py: pydantic's, made readable
    how is it called      invoke.py      by position, collected, awaited;  styles.py: arguments or one value
    what is it in all     build.py       `describe`, and objects with `execute`;  facts.py: the cache

This page imports nothing, so that `import toolhub` stays fast: docstring-parser and inspect are loaded when the first function
is described, and pydantic when a signature needs it.

>>> from toolhub._signature.build import describe
>>> def add(a: int, b: int = 1) -> int:
...     "Add two numbers."
...     return a + b
>>> tool = describe(add)
>>> tool.name, tool.parameters["required"], tool.parameters["properties"]["b"]
('add', ['a'], {'type': 'integer', 'default': 1})
>>> tool.call(**tool.build({"a": 5}))
6
"""
