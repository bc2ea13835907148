"""A JSON Schema that is easy to read, for people and models.

Pydantic's own is correct, but titles repeat every name, unknown classes are an error, and keys are sorted
alphabetically.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

from pydantic.json_schema import GenerateJsonSchema, JsonSchemaWarningKind

from .schema import python_type, whole

if TYPE_CHECKING:
    from pydantic_core import core_schema


class Readable(GenerateJsonSchema):
    """Pydantic's generator without noise, and with a schema for every type."""

    ignored_warning_kinds: ClassVar[set[JsonSchemaWarningKind]] = {  # pyright: ignore[reportIncompatibleVariableOverride]
        "skipped-choice",
        "non-serializable-default",
        "skipped-discriminator",
    }

    def field_title_should_be_set(self, schema: Any) -> bool:
        """No title where the name of the field says the same."""
        return False

    def named_tuple_schema(self, schema: Any) -> dict[str, Any]:
        """The elements of a named tuple, whose names stand nowhere else."""
        return _named(super().named_tuple_schema(schema), schema["fields"])

    def p_arguments_schema(self, arguments: Any, var_args_schema: Any) -> dict[str, Any]:
        """The same in older versions of pydantic."""
        return _named(super().p_arguments_schema(arguments, var_args_schema), arguments)

    def sort(self, value: Any, parent_key: str | None = None) -> Any:
        """Keep the order of the source."""
        return value

    def is_instance_schema(self, schema: core_schema.IsInstanceSchema) -> dict[str, Any]:
        """An object that only Python code can pass."""
        return {"description": python_type(schema["cls"])}

    def is_subclass_schema(self, schema: core_schema.IsSubclassSchema) -> dict[str, Any]:
        """A class, which only Python can pass."""
        return {"description": f"Python type: a subclass of {schema['cls'].__qualname__}"}

    def callable_schema(self, schema: core_schema.CallableSchema) -> dict[str, Any]:
        """A function, which only Python can pass."""
        return {"description": "Python type: Callable"}

    def handle_invalid_for_json_schema(self, schema: Any, error_info: str) -> dict[str, Any]:
        """Anything: the builder checks what JSON Schema cannot express."""
        return {}


def _named(elements: dict[str, Any], fields: list[Any]) -> dict[str, Any]:
    for element, field in zip(elements.get("prefixItems", ()), fields, strict=False):
        element.setdefault("title", field["name"])
    return elements


def of_model(model: Any) -> dict[str, Any]:
    """The schema of a pydantic model, such as an object's `args_schema`."""
    return whole(model.model_json_schema(schema_generator=Readable))
