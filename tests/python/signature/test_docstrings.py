"""The words of a docstring, in the styles that people write."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolhub._signature.build import describe
from toolhub._signature.docstrings import ParsedDocstring, read

GOOGLE = """Search the web.

    Uses an index that is
    updated daily.

    Args:
        query (str): What to look for,
            in plain words.
        limit: How many. Defaults to 10.
        *sites: Where to look.
        **options: The rest.

    Keyword Args:
        safe: Leave out the unsafe.

    Returns:
        A list of hits: title and address.

    Raises:
        ValueError

    Example:
        >>> search("x")
"""
NUMPY = """Search the web.

    Uses an index that is
    updated daily.

    Parameters
    ----------
    query : str
        What to look for,
        in plain words.
    limit : int, optional
        How many. Defaults to 10.
    *sites
        Where to look.
    **options
        The rest.

    Other Parameters
    ----------------
    safe : bool
        Leave out the unsafe.

    Returns
    -------
    list
        A list of hits.
"""
REST = """Search the web.

    Uses an index that is
    updated daily.

    :param str query: What to look for,
        in plain words.
    :param limit: How many. Defaults to 10.
    :type limit: int
    :param \\*sites: Where to look.
    :param \\*\\*options: The rest.
    :keyword safe: Leave out the unsafe.
    :returns: A list of hits.
    :raises ValueError: never
"""


@pytest.mark.parametrize("doc", [GOOGLE, NUMPY, REST], ids=["google", "numpy", "rest"])
def test_styles(doc: str) -> None:
    words = read(doc)
    assert words.description == "Search the web.\n\nUses an index that is\nupdated daily."
    assert words.parameters["query"] == "What to look for, in plain words."
    assert words.parameters["limit"] == "How many. Defaults to 10."


@pytest.mark.parametrize("doc", [GOOGLE, NUMPY, REST], ids=["google", "numpy", "rest"])
def test_stars_and_keywords(doc: str) -> None:
    words = read(doc).parameters
    assert words["sites"] == "Where to look."
    assert words["options"] == "The rest."
    assert words["safe"] == "Leave out the unsafe."
    assert words.keys() == {"query", "limit", "sites", "options", "safe"}


def test_several_names_in_one_line() -> None:
    doc = "Move.\n\nParameters\n----------\nx, y : float\n    Where to."
    assert read(doc).parameters == {"x": "Where to.", "y": "Where to."}


def test_one_odd_line_does_not_lose_the_others() -> None:
    doc = "Move.\n\nArgs:\n    x: Where to.\n    nonsense\n    y: Also."
    assert read(doc) == ParsedDocstring("Move.", {"x": "Where to.", "y": "Also."})


def test_lists_in_the_words_stay_lists() -> None:
    doc = "Move.\n\nArgs:\n    how: One of\n        - fast\n        - slow"
    assert read(doc).parameters == {"how": "One of\n- fast\n- slow"}


@pytest.mark.parametrize("doc", [None, "", "   \n  "])
def test_no_words(doc: str | None) -> None:
    assert read(doc) == ParsedDocstring("", {})


@pytest.mark.parametrize(
    "doc",
    [
        "Note: this is prose.",
        "See https://a.b: it works.",
        "A list:\n\n- one\n- two",
        "搜索网页。\n\n支持中文。",
    ],
)
def test_prose_stays_as_it_is(doc: str) -> None:
    assert read(doc) == ParsedDocstring(doc, {})


def test_sections_without_sense_leave_the_description() -> None:
    assert read("Do it.\n\nArgs:\n").description == "Do it."


def test_a_docstring_may_document_what_is_not_there() -> None:
    def tool(a: int):
        """Do.

        Args:
            a: real
            b: gone
        """

    assert describe(tool).parameters["properties"] == {"a": {"type": "integer", "description": "real"}}


LINES = st.sampled_from(
    [
        "Args:",
        "Returns:",
        "Parameters",
        "----------",
        ":param x: y",
        ":param",
        "  x: y",
        "    x",
        "x : int",
        "",
    ]
)


@given(st.lists(LINES | st.text(max_size=20), max_size=12).map("\n".join))
def test_no_docstring_stops_a_description(doc: str) -> None:
    words = read(doc)
    assert all(isinstance(text, str) and text for text in words.parameters.values())
    assert words.description == words.description.strip()


@pytest.mark.parametrize(
    "doc",
    [
        """
        Args:
            a: only
        """,
        """Args:
            a: only
        """,
        """Args:
            a: only

        Returns:
            Something.
        """,
        """
        Parameters
        ----------
        a : int
            only
        """,
        """
        :param a: only
        """,
    ],
)
def test_a_docstring_may_begin_with_its_section(doc: str) -> None:
    assert read(doc) == ParsedDocstring("", {"a": "only"})
