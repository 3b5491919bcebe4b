"""How long tests wait for what other processes do: only a failure waits to the end."""

from typing import Final

PATIENCE_S: Final = 600
"""A busy machine takes many times as long as an idle one."""
ANSWER_S: Final = 120
"""The same for one answer of a broker."""
