"""Tools and skills from folders.

The flow, one file a step::

    which files             modules.py    modules of a folder; tests, private files and the insides of skills are left out
    how they are imported                 under private names, without bytecode
    what is a tool in them  members.py    marks, and the shape of name, description and execute(input); what it imports is not
    what is in the hub      folders.py    each folder, loaded and loaded again: new, changed, removed, broken
    what skills may run     scripts.py    nothing, unless the user allows it

`SKILL.md` files are found and read by the core.
Nothing of this is imported before the first folder is loaded.
"""
