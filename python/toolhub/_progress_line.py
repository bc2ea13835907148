"""One line on a terminal that is overwritten, while something is waited for."""

import os
import sys


class ProgressLine:
    """The line on stderr; nothing in a pipe."""

    def __init__(self) -> None:
        stream = sys.stderr
        self._stream = stream if stream is not None and stream.isatty() else None

    def show(self, text: str) -> None:
        """Replace the line."""
        if self._stream is not None:
            try:
                columns = os.get_terminal_size(self._stream.fileno()).columns or 80
            except (OSError, ValueError):
                columns = 80
            shown = text if len(text) < columns else f"{text[: columns - 2]}…"
            self._stream.write(f"\r\x1b[2K{shown}")
            self._stream.flush()

    def clear(self) -> None:
        """Remove the line."""
        self.show("")
