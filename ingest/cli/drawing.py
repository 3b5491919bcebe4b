"""rich's modules for tables and progress, which take longer to load than an idle run lasts."""

from rich import box, console, live, spinner, table, text

__all__ = ["box", "console", "live", "spinner", "table", "text"]
