"""`ingest completion`: scripts that complete commands, options and table names."""

from typing import Annotated, Literal

from cyclopts import Parameter

from ingest.cli.app import app as root
from ingest.cli.output import print_page
from ingest.cli.page import CommandPage

app = CommandPage(name="completion", help_format="markdown")


@app.default
def completion(shell: Annotated[Literal["bash", "zsh", "fish"], Parameter(help="The shell.")], /) -> int:
    """Print a shell's completion script: for commands, options, and the tables of the deployment.

    Try it with `source <(ingest completion bash)`. To keep it, write it to the shell's folder:
    `~/.local/share/bash-completion/completions/ingest`, `_ingest` in a folder of zsh's `fpath`, or
    `~/.config/fish/completions/ingest.fish`.

    Example: `ingest completion bash > ~/.local/share/bash-completion/completions/ingest`
    """
    print_page(root.generate_completion(shell=shell).rstrip())
    return 0
